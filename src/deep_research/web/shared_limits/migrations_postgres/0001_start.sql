-- What is under way at services, and when calls to them began. Not logged, so that nothing waits for the disk: after a
-- crash of the database the processes write down again what they use.

CREATE UNLOGGED TABLE call_slots (
    service    TEXT COLLATE "C" NOT NULL,
    holder     TEXT COLLATE "C" NOT NULL, -- one process
    held       BIGINT NOT NULL,
    wanted     BIGINT NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (service, holder)
) WITH (fillfactor = 50);

CREATE UNLOGGED TABLE call_turns (
    service      TEXT COLLATE "C" PRIMARY KEY,
    starts       TIMESTAMPTZ[] NOT NULL, -- the last calls that have their turns, in order
    paused_until TIMESTAMPTZ NOT NULL
) WITH (fillfactor = 50);

-- Returns how many calls a process may have under way. It gets more than an equal share only of what others do not want;
-- what it uses beyond that it holds until those calls have ended.
CREATE FUNCTION hold_slots(of_service TEXT, asking TEXT, used BIGINT, wants BIGINT, most BIGINT, lease INTERVAL)
RETURNS BIGINT LANGUAGE plpgsql AS $$
DECLARE
    share BIGINT;
    room BIGINT;
    unwanted BIGINT;
    granted BIGINT;
BEGIN
    -- Each statement after this one sees what others did before they let go of the lock.
    PERFORM pg_advisory_xact_lock(710620, hashtext(of_service));
    DELETE FROM call_slots WHERE service = of_service AND (holder = asking OR expires_at < clock_timestamp());
    IF wants = 0 THEN
        RETURN 0;
    END IF;
    SELECT greatest(1, most / (1 + count(*))) INTO share FROM call_slots WHERE service = of_service;
    SELECT most - coalesce(sum(held), 0), most - coalesce(sum(greatest(held, least(wanted, share))), 0)
    INTO room, unwanted FROM call_slots WHERE service = of_service;
    granted := least(wants, room, greatest(share, unwanted));
    INSERT INTO call_slots VALUES (of_service, asking, greatest(used, granted), wants, clock_timestamp() + lease);
    RETURN granted;
END $$;

-- Returns in how many seconds a call may begin; one that would wait longer than `within` has no turn.
CREATE FUNCTION take_turn(of_service TEXT, calls INTEGER, per INTERVAL, within INTERVAL)
RETURNS DOUBLE PRECISION LANGUAGE plpgsql AS $$
DECLARE
    known call_turns;
    now_at TIMESTAMPTZ;
    begins_at TIMESTAMPTZ;
BEGIN
    INSERT INTO call_turns VALUES (of_service, '{}', '-infinity') ON CONFLICT DO NOTHING;
    SELECT * INTO known FROM call_turns WHERE service = of_service FOR UPDATE;
    now_at := clock_timestamp();
    -- An element that is not there is NULL, which `greatest` leaves out.
    begins_at := greatest(now_at, known.paused_until, known.starts[cardinality(known.starts)],
                          known.starts[cardinality(known.starts) - calls + 1] + per);
    IF begins_at <= now_at + within THEN
        UPDATE call_turns SET starts = (known.starts || begins_at)[greatest(1, cardinality(known.starts) + 2 - calls):]
        WHERE service = of_service;
    END IF;
    RETURN extract(epoch FROM begins_at - now_at);
END $$;
