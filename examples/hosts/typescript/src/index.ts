// What this library is for others.

export type { Exit, SpawnOptions } from './child.js';
export {
  AbortError,
  LineTooLongError,
  ProtocolError,
  RpcError,
  SessionrefError,
  SidecarGoneError,
  SidecarUnavailableError,
} from './errors.js';
export { pageOf, type LiveEvent, type LivePage, type LiveSessions } from './live.js';
export * from './protocol.js';
export type { RestartPolicy } from './restart.js';
export {
  Sidecar,
  type CallOptions,
  type ListOptions,
  type SidecarChange,
  type SidecarOptions,
} from './sidecar.js';
export {
  isContextMessage,
  type ContextMessage,
  type ContextReference,
  type Decision,
  type NextStep,
} from './steps.js';
