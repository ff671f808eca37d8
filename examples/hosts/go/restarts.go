package sessionref

// When a sidecar that ended is started again, and when no more. It knows times, not processes.

import "time"

// Restart says how often a sidecar is started again. What is zero has its default.
type Restart struct {
	// Limit is how many times within Window; one more, and it is given up. Default 5; negative: never.
	Limit int
	// Window is how long a restart counts. Default a minute.
	Window time.Duration
	// FirstDelay is waited before the first restart within Window, and doubles with each further one,
	// up to MaxDelay. Defaults 200 ms and 10 s.
	FirstDelay, MaxDelay time.Duration
}

func (r Restart) withDefaults() Restart {
	if r.Limit == 0 {
		r.Limit = 5
	}
	if r.Window == 0 {
		r.Window = time.Minute
	}
	if r.FirstDelay == 0 {
		r.FirstDelay = 200 * time.Millisecond
	}
	if r.MaxDelay == 0 {
		r.MaxDelay = 10 * time.Second
	}
	return r
}

type restarts struct {
	Restart
	recent []time.Time
}

// next is how long to wait before the next restart; false if there is none.
func (r *restarts) next(now time.Time) (time.Duration, bool) {
	for len(r.recent) > 0 && now.Sub(r.recent[0]) >= r.Window {
		r.recent = r.recent[1:]
	}
	if len(r.recent) >= r.Limit {
		return 0, false
	}
	delay := r.FirstDelay
	for range r.recent {
		if delay *= 2; delay >= r.MaxDelay {
			delay = r.MaxDelay
			break
		}
	}
	r.recent = append(r.recent, now)
	return delay, true
}
