-- Every statement of the shared limits by name; each is one round trip and needs no transaction around it.

-- name: hold_slots
SELECT hold_slots(:service, :holder, :used, :wanted, :most, make_interval(secs => :lease_s)) AS granted

-- name: take_turn
SELECT take_turn(:service, :calls, make_interval(secs => :per_s), make_interval(secs => :within_s)) AS wait_s

-- name: pause
INSERT INTO call_turns VALUES (:service, '{}', clock_timestamp() + make_interval(secs => :seconds))
ON CONFLICT (service) DO UPDATE SET paused_until = greatest(call_turns.paused_until, excluded.paused_until)
RETURNING service
