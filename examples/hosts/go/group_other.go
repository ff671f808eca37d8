//go:build !unix

package sessionref

import "syscall"

func ownGroup() *syscall.SysProcAttr { return nil }
