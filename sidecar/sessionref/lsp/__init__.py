"""The language server: `@` in editors, on the same connection, dispatcher and handlers.

Loaded only once a peer has shown that it frames with Content-Length; the only importer of pygls
and lsprotocol, which cost a start more than everything else together. Ids, scopes, envelopes and
the lifecycle stay the dispatcher's and the connection's.
"""
