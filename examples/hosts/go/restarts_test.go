package sessionref

import (
	"fmt"
	"testing"
	"time"
)

func TestRestartsGetSlowerAndEnd(t *testing.T) {
	policy := Restart{Limit: 5, Window: time.Minute, FirstDelay: time.Second, MaxDelay: 6 * time.Second}
	r := restarts{Restart: policy}
	now := time.Now()
	for i, want := range []int{1, 2, 4, 6, 6} {
		now = now.Add(time.Second)
		if delay, more := r.next(now); !more || delay != time.Duration(want)*time.Second {
			t.Errorf("restart %d after %v, %v", i+1, delay, more)
		}
	}
	if delay, more := r.next(now); more {
		t.Errorf("a sixth one after %v", delay)
	}
}

func TestRestartsAreForgottenAfterTheWindow(t *testing.T) {
	r := restarts{Restart: Restart{Limit: 2, Window: time.Minute, FirstDelay: 1, MaxDelay: 100}}
	start := time.Now()
	var told []string
	for _, at := range []time.Duration{0, 30, 59, 60, 61, 90, 300} {
		delay, more := r.next(start.Add(at * time.Second))
		told = append(told, fmt.Sprintf("%d:%d:%v", at, delay, more))
	}
	want := "[0:1:true 30:2:true 59:0:false 60:2:true 61:0:false 90:2:true 300:1:true]"
	if got := fmt.Sprint(told); got != want {
		t.Error(got)
	}
}

func TestRestartsHaveDefaultsAndCanBeNone(t *testing.T) {
	want := Restart{5, time.Minute, 200 * time.Millisecond, 10 * time.Second}
	if got := (Restart{}).withDefaults(); got != want {
		t.Error(got)
	}
	r := restarts{Restart: Restart{Limit: -1}.withDefaults()}
	if _, more := r.next(time.Now()); more {
		t.Error("restarted")
	}
}
