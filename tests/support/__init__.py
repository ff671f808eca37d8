"""What tests share: the driver of a spawned sidecar, recorded cases, session roots, small logs."""
