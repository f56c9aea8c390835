DELETE FROM damaged_row WHERE kind = 'message' AND row IN (SELECT id FROM message WHERE server = $1);
DELETE FROM damaged_row WHERE kind = 'push' AND row IN (SELECT id FROM push WHERE server = $1 AND coalesce(push.finished_at, 0) = 0);
DELETE FROM route;
DELETE FROM server WHERE number = ANY(ARRAY(SELECT number FROM server WHERE is_fenced AND lease_ends < now() - interval '604800000 ms' FOR UPDATE SKIP LOCKED));
DELETE FROM topic_key
WHERE key_hash = $1 AND NOT EXISTS (SELECT 1 FROM registration WHERE key_hash = $1 AND is_live);
INSERT INTO clock (server_name, read_at, expected_at, held_for) VALUES ($1, $2, $3, $4)
ON CONFLICT (server_name) DO UPDATE SET
    read_at = excluded.read_at, expected_at = excluded.expected_at, held_for = excluded.held_for;
INSERT INTO delivered_topic (route, apn_topic) VALUES ($1, $2) ON CONFLICT DO NOTHING;
INSERT INTO identity (id, public_key, schema_version) VALUES (1, $1, $2);
INSERT INTO last_write (writer, sequence) VALUES ($1, $2)
ON CONFLICT (writer) DO UPDATE SET sequence = excluded.sequence, written_at = excluded.written_at;
INSERT INTO ledger (server_name, milestone, count, pruned)
SELECT $1, * FROM unnest($2::bytea[], $3::int8[], $4::int8[])
ON CONFLICT (server_name, milestone) DO UPDATE
SET count = ledger.count + excluded.count, pruned = ledger.pruned + excluded.pruned;
INSERT INTO message (state, is_unfinished, server, is_taken, received_at, sent_at, hash, pubsub_topic, envelope)
SELECT 0, true, owner, owner = $1, $2, sent_at, hash, topic, envelope
FROM unnest($3::int8[], $4::int8[], $5::bytea[], $6::bytea[], $7::bytea[]) WITH ORDINALITY
    AS new (owner, sent_at, hash, topic, envelope, number)
ORDER BY number
ON CONFLICT (hash) DO NOTHING RETURNING hash, id, is_taken;
INSERT INTO nextcloud_device (
    identifier, push_token_hash, platform, topic, voip_topic, created_at, updated_at, used_at, is_dead, secrets, token_code,
    voip_secrets, voip_token_code)
VALUES ($1, $2, $3, $4, $5, $6, $7, $7, false, $8, $9, $10, $11)
ON CONFLICT (identifier) DO UPDATE SET
    push_token_hash = excluded.push_token_hash, platform = excluded.platform, topic = excluded.topic,
    voip_topic = excluded.voip_topic, created_at = excluded.created_at, updated_at = excluded.updated_at,
    used_at = greatest(nextcloud_device.used_at, excluded.used_at), removed_at = NULL, is_dead = false,
    secrets = excluded.secrets, token_code = excluded.token_code, voip_secrets = excluded.voip_secrets,
    voip_token_code = excluded.voip_token_code;
INSERT INTO owner (key_hash) SELECT * FROM unnest($1::bytea[]) AS new (key_hash) ORDER BY key_hash ON CONFLICT DO NOTHING;
INSERT INTO push (
    accepted_at, attempts, message, state, route, trust, next_attempt_at, finished_at, reason, deduplication_key, key_hash,
    installation_id, token_type, type, apn_topic, secrets, registration, server, device)
SELECT $1, 0, new.message, new.state, new.route, new.trust, new.next_attempt_at, new.finished_at, new.reason,
    new.deduplication_key, new.key_hash, new.installation_id, new.token_type, new.type, new.apn_topic, new.secrets,
    registration.id, $16, new.device
FROM unnest(
    $2::int8[], $3::int8[], $4::bytea[], $5::int8[], $6::int8[], $7::int8[], $8::bytea[], $9::bytea[], $10::bytea[],
    $11::bytea[], $12::int8[], $13::int8[], $14::bytea[], $15::bytea[], $17::bytea[]
) WITH ORDINALITY AS new (
    message, state, route, trust, next_attempt_at, finished_at, reason, deduplication_key, key_hash, installation_id,
    token_type, type, apn_topic, secrets, device, number)
LEFT JOIN registration ON registration.key_hash = new.key_hash AND registration.installation_id = new.installation_id
    AND registration.is_live
ORDER BY new.number;
INSERT INTO push (
    message, state, route, accepted_at, next_attempt_at, finished_at, attempts, deduplication_key, key_hash, installation_id,
    token_type, type, apn_topic, secrets, trust, device
    , server)
VALUES (0, $1, $2, $3, $4, $5, 0, $6, $7, '', $8, 0, $9, $10, $11, $12
    , $13) RETURNING id;
INSERT INTO registration (
    is_live, was_registered, updated_at, key_hash, installation_id, version, plaintext_digest, token_type, enabled,
    allow_from_contacts_only, block_mentions, apn_topic, grant_signature, blocked_chats, muted_chats,
    allowed_mentions_chats, plain_topic, prefixed_topic, secrets, token_code, sealed_allowed_keys, sealed_chat_lists)
SELECT true, true, $1, * FROM unnest(
    $2::bytea[], $3::bytea[], $4::int8[], $5::bytea[], $6::int8[], $7::bool[], $8::bool[], $9::bool[], $10::bytea[],
    $11::bytea[], $12::bytea[], $13::bytea[], $14::bytea[], $15::int8[], $16::int8[], $17::bytea[], $18::bytea[],
    $19::bytea[], $20::bytea[])
ON CONFLICT (key_hash, installation_id) DO UPDATE SET
    is_live = true, was_registered = true, updated_at = excluded.updated_at, version = excluded.version,
    plaintext_digest = excluded.plaintext_digest, token_type = excluded.token_type, enabled = excluded.enabled,
    allow_from_contacts_only = excluded.allow_from_contacts_only, block_mentions = excluded.block_mentions,
    apn_topic = excluded.apn_topic, grant_signature = excluded.grant_signature, blocked_chats = excluded.blocked_chats,
    muted_chats = excluded.muted_chats,
    allowed_mentions_chats = excluded.allowed_mentions_chats, plain_topic = excluded.plain_topic,
    prefixed_topic = excluded.prefixed_topic, secrets = excluded.secrets, token_code = excluded.token_code,
    sealed_allowed_keys = excluded.sealed_allowed_keys, sealed_chat_lists = excluded.sealed_chat_lists
RETURNING key_hash, installation_id, id;
INSERT INTO registration (is_live, was_registered, updated_at, key_hash, installation_id, version, plaintext_digest)
VALUES (false, $1, $2, $3, $4, $5, $6)
ON CONFLICT (key_hash, installation_id) DO UPDATE SET
    is_live = false, updated_at = excluded.updated_at, version = excluded.version,
    plaintext_digest = excluded.plaintext_digest, token_type = NULL, enabled = NULL, allow_from_contacts_only = NULL,
    block_mentions = NULL, apn_topic = NULL, grant_signature = NULL, blocked_chats = NULL, muted_chats = NULL,
    allowed_mentions_chats = NULL, plain_topic = NULL, prefixed_topic = NULL, delivered_at = NULL,
    first_delivered_at = NULL, secrets = NULL, token_code = NULL,
    sealed_allowed_keys = NULL, sealed_chat_lists = NULL;
INSERT INTO route (token_type, apn_topic, name) SELECT * FROM unnest($1::int8[], $2::bytea[], $3::bytea[]);
INSERT INTO sealing (id, key_id, step, position) VALUES (1, $1, $2, '');
INSERT INTO sealing_key (key_id, secret) VALUES ($1, $2);
INSERT INTO server (name, part, version, lease_ends) VALUES ($1, $2, $3, now() + interval '15000 ms') RETURNING number;
INSERT INTO topic_key (key_hash, is_prefixed, topic_key) VALUES ($1, $2, $3)
ON CONFLICT (key_hash, is_prefixed) DO UPDATE SET topic_key = excluded.topic_key;
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8;
SELECT 1 FROM push WHERE deduplication_key = $1 AND accepted_at >= $2 LIMIT 1;
SELECT DISTINCT ON (status_message_id) status_message_id, id, recipient, sealed_reply FROM message
WHERE status_message_id = ANY($1) AND reply_type = $2 ORDER BY status_message_id, id DESC;
SELECT DISTINCT route FROM push WHERE registration = ANY($1) AND push.finished_at IS NULL;
SELECT NOT is_fenced FROM server WHERE number = $1 FOR UPDATE;
SELECT coalesce((
    SELECT id FROM push
    WHERE device = $2 AND coalesce(push.finished_at, -3) = -3 AND server = $1 AND route = $3 AND next_attempt_at <= $4 AND attempts = 0
        AND id <> ALL($5)
    ORDER BY id LIMIT 1
), (
    SELECT id FROM push
    WHERE device = $2 AND coalesce(push.finished_at, -3) = -3 AND server = $1 AND route = $3 AND next_attempt_at <= $4 AND attempts > 0
        AND id <> ALL($5)
    ORDER BY attempted_at, id LIMIT 1
)), (
    SELECT min(next_attempt_at) FROM push
    WHERE device = $2 AND coalesce(push.finished_at, -3) = -3 AND server = $1 AND route = $3 AND next_attempt_at > $4
        AND next_attempt_at < 9223372036854775807
);
SELECT convert_to(concat(
    application_name, ' (process ', pid, ' of PostgreSQL, from ', coalesce(host(client_addr), 'its own machine'),
    ', connected since ', to_char(backend_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'), ' UTC)'), 'UTF8')
FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE relation = to_regclass('operator_lock') AND mode = 'ExclusiveLock' AND granted AND pid <> pg_backend_pid()
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database());
SELECT count(*) FILTER (WHERE state = 0),
    count(*) FILTER (WHERE state <> 0)
FROM message WHERE is_unfinished;
SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'identity';
SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'operator_lock';
SELECT count(*) FROM proven_token WHERE token_digest = $1;
SELECT count(*) FROM push WHERE route = $1 AND trust = ANY($2) AND coalesce(push.finished_at, 0) = 0;
SELECT count(*) FROM registration WHERE is_live;
SELECT count(*) FROM server
WHERE name = $1 AND part NOT IN ($2, '') AND $2 <> '' AND NOT is_fenced AND lease_ends > now();
SELECT count(*) FROM suspect_token;
SELECT count(*), count(*) FILTER (WHERE next_attempt_at >= 1125899906842624),
    count(*) FILTER (WHERE next_attempt_at = 9223372036854775807), min(accepted_at)
FROM push WHERE coalesce(push.finished_at, 0) = 0;
SELECT deduplication_key FROM push WHERE deduplication_key = ANY($1) AND accepted_at >= $2;
SELECT device, max(finished_at) FROM (
    SELECT device, route, state, finished_at FROM push
    WHERE finished_at IS NOT NULL AND finished_at >= $1 ORDER BY finished_at DESC LIMIT $2
) AS finished WHERE route = $3 AND state = $4 AND device IS NOT NULL GROUP BY device LIMIT $5;
SELECT id, delivered_at IS NULL FROM registration
JOIN unnest($1::int8[], $2::int8[]) AS target (row, target_version) ON id = row AND version = target_version
WHERE is_live ORDER BY id FOR UPDATE OF registration;
SELECT id, plain_topic, prefixed_topic FROM registration WHERE id > $1 AND is_live ORDER BY id LIMIT $2;
SELECT id, state FROM message WHERE server = $1 AND is_unfinished ORDER BY id;
SELECT key_hash, id, coalesce(octet_length(sealed_allowed_keys) - 33, 0)::int8 FROM registration
WHERE key_hash = ANY($1) AND is_live ORDER BY id;
SELECT key_hash, installation_id, id, version, plaintext_digest, is_live, was_registered, updated_at,
coalesce(octet_length(sealed_allowed_keys) - 33, 0)::int8 + coalesce(octet_length(sealed_chat_lists) - 33, 0)::int8, coalesce(octet_length(sealed_allowed_keys) - 33, 0)::int8,
delivered_at IS NOT NULL
FROM registration WHERE key_hash = ANY($1);
SELECT key_hash, installation_id, registration.id, delivered_at IS NOT NULL, registration.version, registration.secrets, enabled, token_type, apn_topic, block_mentions,
blocked_chats, muted_chats, allowed_mentions_chats
FROM unnest($1::bytea[], $2::bytea[]) AS wanted (key_hash, installation_id)
JOIN registration USING (key_hash, installation_id) WHERE is_live;
SELECT key_hash, installation_id, registration.version, registration.secrets, grant_signature, allow_from_contacts_only, sealed_allowed_keys FROM registration WHERE id = ANY($1) ORDER BY id;
SELECT key_id, secret FROM sealing_key ORDER BY key_id;
SELECT key_id, step, position FROM sealing;
SELECT min(first.next_attempt_at) FROM unnest($3::int8[]) AS level (trust), LATERAL (
    SELECT next_attempt_at FROM push
    WHERE server = $1 AND route = $2 AND trust = level.trust AND coalesce(push.finished_at, 0) = 0 AND next_attempt_at > $4
        AND next_attempt_at < 9223372036854775807
    ORDER BY next_attempt_at LIMIT 1
) AS first;
SELECT next_attempt_at, id, device, attempts > 0 FROM push
WHERE server = $1 AND route = $2 AND trust = $3 AND coalesce(push.finished_at, 0) = 0 AND (next_attempt_at, id) > ($4, $5)
    AND next_attempt_at <= $6
ORDER BY next_attempt_at, id LIMIT $7;
SELECT number FROM server WHERE is_fenced;
SELECT number, NOT is_leaving AND lease_ends > now() + interval '15000 ms' - interval '3000 ms' FROM server
WHERE NOT is_fenced AND lease_ends > now();
SELECT number, name, version, is_leaving, is_fenced, lease_ends > now(),
    (extract(epoch FROM lease_ends - now()) * 1000)::int8, undecided, unreplied, oldest,
    (SELECT count(*) FROM push WHERE push.server = server.number AND coalesce(push.finished_at, 0) = 0),
    (SELECT convert_to(coalesce(string_agg(convert_from(job.name, 'UTF8'), ',' ORDER BY job.name), ''), 'UTF8')
        FROM job WHERE job.server = server.number AND job.lease_ends > now())
FROM server, LATERAL (
    SELECT count(*) FILTER (WHERE state = 0) AS undecided,
        count(*) FILTER (WHERE state <> 0) AS unreplied,
        min(received_at) FILTER (WHERE state = 0) AS oldest
    FROM message WHERE message.server = server.number AND is_unfinished
) AS work
ORDER BY number;
SELECT pg_database_size(current_database()), (extract(epoch FROM clock_timestamp()) * 1000000)::int8 * 1000;
SELECT public_key, schema_version FROM identity;
SELECT push.id, push.message, push.key_hash, push.installation_id, push.deduplication_key, push.token_type, push.apn_topic, push.type,
push.accepted_at, push.state, push.attempts, push.refused_at, push.counted_refusals, push.shortening, push.registration,
push.secrets, target.token_type, target.apn_topic, target.version, target.secrets, target.delivered_at, target.first_delivered_at
FROM unnest($1::int8[]) WITH ORDINALITY AS chosen (id, number)
JOIN push ON push.id = chosen.id AND coalesce(push.finished_at, -2) < 0 AND push.next_attempt_at < 9223372036854775807
LEFT JOIN registration AS target ON target.id = push.registration AND target.is_live
ORDER BY chosen.number;
SELECT read_at, expected_at, held_for FROM clock ORDER BY server_name = $1 DESC, read_at DESC LIMIT 1;
SELECT route, apn_topic FROM delivered_topic;
SELECT route, count(*) FROM push WHERE coalesce(push.finished_at, 0) = 0 GROUP BY route;
SELECT route, trust, min(next_attempt_at) FROM push
WHERE server = $1 AND coalesce(push.finished_at, 0) = 0 AND next_attempt_at BETWEEN 1 AND 1125899906842623
GROUP BY route, trust;
SELECT schema_version FROM identity;
SELECT secrets, voip_secrets, push_token_hash, platform, topic, voip_topic, created_at, updated_at
FROM nextcloud_device WHERE identifier = $1 AND removed_at IS NULL;
SELECT server_name, milestone, count, pruned FROM ledger;
SELECT token_digest FROM suspect_token WHERE route = $1 LIMIT $2;
SELECT token_digest, delivered_at, first_delivered_at FROM proven_token WHERE token_digest = ANY($1);
SELECT token_digest, suspected_at, tried_at, refusals, counted_refusals, first_counted_at, is_proven FROM suspect_token WHERE token_digest = ANY($1);
SELECT token_type, apn_topic, name FROM route;
SELECT true FROM owner WHERE key_hash = ANY($1) ORDER BY key_hash FOR UPDATE;
SELECT wanted.number, registration.key_hash, topic_key
FROM unnest($1::int8[], $2::bool[]) WITH ORDINALITY AS wanted (registration, is_prefixed, number)
JOIN registration ON registration.id = wanted.registration
LEFT JOIN topic_key ON topic_key.key_hash = registration.key_hash AND topic_key.is_prefixed = wanted.is_prefixed;
UPDATE message SET
    state = 3, decided_at = $1, envelope = NULL, pubsub_topic = new.topic,
    reply_type = new.type, sealed_reply = new.sealed_reply, recipient = new.recipient,
    status_message_id = new.status_message_id, installation_id = new.installation_id
FROM unnest($2::int8[], $3::bytea[], $4::int8[], $5::bytea[], $6::bytea[], $7::bytea[], $8::bytea[])
    AS new (id, topic, type, recipient, status_message_id, installation_id, sealed_reply)
WHERE message.id = new.id AND CASE WHEN message.state = 0 THEN message.server = $9 ELSE false END;
UPDATE message SET
    state = new.state, is_unfinished = false, decided_at = $1, ignore_reason = new.reason, envelope = NULL,
    pubsub_topic = NULL
FROM unnest($2::int8[], $3::int8[], $4::int8[]) AS new (id, state, reason)
WHERE message.id = new.id AND CASE WHEN message.state = 0 THEN message.server = $5 ELSE false END;
UPDATE message SET is_taken = true
WHERE hash = ANY($2) AND server = $1 AND is_unfinished AND NOT is_taken RETURNING hash, id;
UPDATE message SET is_unfinished = false
WHERE is_unfinished AND recipient = $1 AND id + 0 < $2 AND reply_type = $3
    AND (installation_id IS NULL OR $4::bytea IS NULL OR installation_id = $4)
RETURNING id;
UPDATE message SET is_unfinished = false WHERE id = ANY($1) AND is_unfinished AND state <> 0;
UPDATE message SET server = $1, is_taken = true WHERE id = ANY(ARRAY(
    SELECT message.id FROM message JOIN server AS owner ON message.server = owner.number
    WHERE message.is_unfinished AND message.is_taken = ANY(ARRAY[false, owner.is_fenced])
        AND (owner.is_fenced OR owner.number = $1 OR message.recorded_at < now() - interval '1000 ms')
    FOR UPDATE OF message SKIP LOCKED))
RETURNING id, state;
UPDATE nextcloud_device SET used_at = $2 WHERE identifier = $1 AND removed_at IS NULL AND used_at < $3;
UPDATE nextcloud_origin_push SET server = $1
WHERE id = ANY(ARRAY(SELECT id FROM nextcloud_origin_push WHERE server IN (SELECT number FROM server WHERE is_fenced) FOR UPDATE SKIP LOCKED));
UPDATE push SET
    state = $1, finished_at = $2, reason = $7, secrets = NULL
WHERE id IN (
    SELECT id FROM push
    WHERE coalesce(push.finished_at, 0) = 0 AND route = $3 AND accepted_at < $4 AND next_attempt_at < 9223372036854775807
        AND server = $6
    ORDER BY id LIMIT $5 FOR UPDATE SKIP LOCKED);
UPDATE push SET
    state = 6, next_attempt_at = 9223372036854775807, attempts = attempts + 1, attempted_at = $1
FROM unnest($2::int8[]) AS change (id)
WHERE push.id = change.id AND CASE WHEN coalesce(push.finished_at, -2) < 0 THEN push.server = $3 ELSE false END AND push.state <> 6;
UPDATE push SET
    state = change.state, finished_at = $1, reason = change.reason, secrets = NULL,
    words = CASE change.state WHEN 1 THEN NULL ELSE coalesce(change.words, push.words) END
FROM unnest($2::int8[], $3::int8[], $4::bytea[], $5::bytea[]) AS change (id, state, reason, words)
WHERE push.id = change.id AND CASE WHEN coalesce(push.finished_at, -2) < 0 THEN push.server = $6 ELSE false END RETURNING push.state;
UPDATE push SET next_attempt_at = 0 WHERE server = $1 AND coalesce(push.finished_at, 0) = 0 AND next_attempt_at > $2;
UPDATE push SET route = coalesce(
    (SELECT name FROM route WHERE route.token_type = push.token_type AND route.apn_topic = push.apn_topic),
    (SELECT name FROM route WHERE route.token_type = push.token_type AND route.apn_topic = ''), '')
WHERE server = $1 AND coalesce(push.finished_at, 0) = 0 AND route <> coalesce(
    (SELECT name FROM route WHERE route.token_type = push.token_type AND route.apn_topic = push.apn_topic),
    (SELECT name FROM route WHERE route.token_type = push.token_type AND route.apn_topic = ''), '');
UPDATE push SET server = $1 WHERE id = ANY(ARRAY(
    SELECT id FROM push WHERE coalesce(push.finished_at, 0) = 0 AND server IN (SELECT number FROM server WHERE is_fenced)
    FOR UPDATE SKIP LOCKED));
UPDATE push SET state = $3, finished_at = $4, reason = $5, secrets = NULL
WHERE key_hash = $1 AND installation_id = $2 AND push.finished_at IS NULL AND state <> 6;
UPDATE push SET state = 7, next_attempt_at = 0
WHERE server = $1 AND coalesce(push.finished_at, 0) = 0 AND state = 6;
UPDATE push SET state = change.state, next_attempt_at = 0, attempts = attempts - 1
FROM unnest($1::int8[], $2::int8[]) AS change (id, state)
WHERE push.id = change.id AND CASE WHEN coalesce(push.finished_at, -2) < 0 THEN push.server = $3 ELSE false END AND push.state = 6;
UPDATE push SET trust = 1, next_attempt_at = moved.next FROM (
    SELECT push.id, CASE WHEN push.next_attempt_at < 1125899906842624
            OR push.reason = 'unproven bundle id' AND push.next_attempt_at < 9223372036854775807
        THEN $1 - 1 + row_number() OVER (
            PARTITION BY push.key_hash, push.installation_id ORDER BY push.next_attempt_at, push.id)
        ELSE push.next_attempt_at END AS next
    FROM push WHERE push.route = $2 AND push.trust = 2 AND coalesce(push.finished_at, 0) = 0 AND push.apn_topic = $3 AND push.server = $4
) AS moved WHERE push.id = moved.id
RETURNING push.key_hash, push.installation_id, push.next_attempt_at;
UPDATE registration SET
    first_delivered_at = coalesce(first_delivered_at, delivered_at, $1), delivered_at = greatest(delivered_at, $1)
WHERE id = ANY($2);
UPDATE registration SET delivered_at = NULL, first_delivered_at = NULL
FROM unnest($1::bytea[], $2::bytea[], $3::int8[], $4::bytea[], $5::bytea[], $6::bytea[])
    AS new (key_hash, installation_id, token_type, apn_topic, token_code, written_code)
WHERE registration.key_hash = new.key_hash AND registration.installation_id = new.installation_id AND delivered_at IS NOT NULL
    AND (registration.token_type <> new.token_type OR registration.apn_topic <> new.apn_topic
        OR registration.token_code IS DISTINCT FROM new.token_code
            AND registration.token_code IS DISTINCT FROM new.written_code);
UPDATE server SET is_fenced = true WHERE name = $1 AND NOT is_fenced;
UPDATE server SET is_fenced = true WHERE number = $1;
UPDATE server SET is_leaving = true WHERE number = $1;
UPDATE server SET lease_ends = now() + interval '15000 ms', is_leaving = $2 WHERE number = $1;
