//go:build unix

package sessionref

import "syscall"

// ownGroup keeps the signals of the host's terminal from the sidecar: Ctrl-C may mean no more than
// "stop this turn", and it is the host who decides. When the host dies the sidecar notices itself.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
