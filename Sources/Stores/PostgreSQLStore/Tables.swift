/// The tables of the database.
///
/// Texts are `bytea`, because a peer's text may contain U+0000. Times are nanoseconds since 1970, as peers and the server's clock give
/// them.
enum Tables {
    static let all = """
        CREATE TABLE identity (
            id int8 PRIMARY KEY CHECK (id = 1),
            public_key bytea NOT NULL,
            schema_version int8 NOT NULL
        );
        -- The sealing keys whose values the database has: each with the secret of the database, sealed with the key.
        CREATE TABLE sealing_key (
            key_id int8 PRIMARY KEY,
            secret bytea NOT NULL
        );
        -- The progress of re-sealing (`ResealingState`).
        CREATE TABLE sealing (
            id int8 PRIMARY KEY CHECK (id = 1),
            key_id int8 NOT NULL,                   -- the key that seals new values
            step int8 NOT NULL,                     -- `ResealingStep`
            position bytea NOT NULL                 -- the key of the last row of the step's table that was examined; empty to begin
        );
        CREATE TABLE probe (
            id int8 PRIMARY KEY CHECK (id = 1),
            count int8 NOT NULL
        );

        -- The servers (ClusterStore). Messages and pushes name their owner.
        CREATE TABLE server (
            number int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            name bytea NOT NULL,
            version bytea NOT NULL,
            lease_ends timestamptz NOT NULL,
            is_leaving bool NOT NULL DEFAULT false,
            is_fenced bool NOT NULL DEFAULT false,
            part bytea NOT NULL DEFAULT ''          -- tells two machines with one name apart (`Member.part`)
        );
        -- A job that one server does for all.
        CREATE TABLE job (
            name bytea PRIMARY KEY,
            server int8 NOT NULL,
            lease_ends timestamptz NOT NULL
        );

        -- The newest committed transaction of each connection, by which a server whose connection broke during a commit learns its outcome.
        CREATE TABLE last_write (
            writer int8 PRIMARY KEY,                -- a random number of the connection
            sequence int8 NOT NULL,
            written_at timestamptz NOT NULL DEFAULT now()
        ) WITH (fillfactor = 50);

        -- A row per key that has registered. Its lock orders all decisions about the key's registrations and pushes.
        CREATE TABLE owner (
            key_hash bytea PRIMARY KEY
        );
        -- A row per installation, which a tombstone keeps permanently.
        CREATE TABLE registration (
            id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            key_hash bytea NOT NULL,
            installation_id bytea NOT NULL,
            is_live bool NOT NULL,
            was_registered bool NOT NULL,           -- false for a tombstone without an earlier registration
            version int8 NOT NULL,                  -- a UInt64 with its highest bit inverted
            updated_at int8 NOT NULL,
            plaintext_digest bytea NOT NULL,
            token_type int8,                        -- this and the columns below: NULL in a tombstone
            enabled bool,
            allow_from_contacts_only bool,
            block_mentions bool,
            apn_topic bytea,
            grant_signature bytea,
            secrets bytea,                          -- access token and device token, sealed
            token_code bytea,                       -- an HMAC of the device token
            sealed_allowed_keys bytea,              -- protobuf: the list alone; NULL when it is empty
            sealed_chat_lists bytea,                -- protobuf: the three chat lists; NULL when all are empty
            blocked_chats bytea,                    -- this and the two below: sorted fingerprints of the entries; NULL when it is empty
            muted_chats bytea,
            allowed_mentions_chats bytea,
            plain_topic int8,
            prefixed_topic int8,
            delivered_at int8,                      -- the last delivery to the token and bundle id, to the day
            first_delivered_at int8,                -- the first; NULL in a row of 0.1.0, where the last stands for it
            UNIQUE (key_hash, installation_id)
        );
        CREATE INDEX registration_by_token_code ON registration (token_code) WHERE token_code IS NOT NULL;
        CREATE INDEX registration_by_plain_topic ON registration (plain_topic) WHERE is_live;
        CREATE INDEX registration_by_prefixed_topic ON registration (prefixed_topic) WHERE is_live;
        CREATE TABLE topic_key (
            key_hash bytea NOT NULL,
            is_prefixed bool NOT NULL,
            topic_key bytea NOT NULL,
            PRIMARY KEY (key_hash, is_prefixed)
        );

        CREATE TABLE message (
            id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            server int8 NOT NULL,                   -- the owner
            is_taken bool NOT NULL,                 -- whether the owner has it in memory or in its queues
            recorded_at timestamptz NOT NULL DEFAULT now(),
            state int8 NOT NULL,
            is_unfinished bool NOT NULL,            -- undecided, or its reply is not marked as published
            received_at int8 NOT NULL,
            sent_at int8 NOT NULL,                  -- as its sender says; 0 when it does not
            decided_at int8,
            hash bytea NOT NULL UNIQUE,             -- covers the time of sending, by which SQLite's index finds a message
            ignore_reason int8,
            reply_type int8,
            status_message_id bytea,
            recipient bytea,
            installation_id bytea,                  -- of the response to a registration, if it names one
            pubsub_topic bytea,                     -- of the envelope; after the decision, of the reply
            sealed_reply bytea,
            envelope bytea                          -- protobuf; NULL after the decision
        ) WITH (\(freshStatistics));
        CREATE INDEX message_unfinished ON message (server, is_taken) WHERE is_unfinished;
        CREATE INDEX message_unpublished ON message (recipient) WHERE is_unfinished AND recipient IS NOT NULL;
        CREATE INDEX message_decided ON message (decided_at) WHERE decided_at IS NOT NULL;
        CREATE INDEX message_by_status_id ON message (status_message_id) WHERE status_message_id IS NOT NULL;
        CREATE TABLE checkpoint (
            pubsub_topic bytea PRIMARY KEY,
            received_until int8 NOT NULL
        );

        CREATE TABLE push (
            id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            server int8 NOT NULL,                   -- the owner while the push is open
            message int8 NOT NULL,                  -- the request; 0 for a push of a gateway
            state int8 NOT NULL,
            route bytea NOT NULL,
            trust int8 NOT NULL,
            accepted_at int8 NOT NULL,
            next_attempt_at int8 NOT NULL,          -- 0, or a time; the greatest number while it is set aside
            attempted_at int8,                      -- this and the reason: of the newest attempt
            reason bytea,
            words bytea,                            -- what Apple or Google said to the newest attempt that failed
            refused_at int8,                        -- this and the two below: `PushRefusals`
            counted_refusals int8 NOT NULL DEFAULT 0,
            shortening int8 NOT NULL DEFAULT 0,
            finished_at int8,                       -- NULL while the push is open
            attempts int8 NOT NULL,
            deduplication_key bytea NOT NULL,
            key_hash bytea NOT NULL,
            installation_id bytea NOT NULL,
            token_type int8 NOT NULL,
            type int8 NOT NULL,
            apn_topic bytea NOT NULL,
            secrets bytea,                          -- `PushSecrets`, sealed; NULL once finished
            registration int8,
            device bytea,                           -- 8 bytes that distinguish the device it goes to
            unanswered int8 NOT NULL DEFAULT 0,     -- this and the two below: `UncertainAttempts`
            brought_forward int8 NOT NULL DEFAULT 0,
            broken int8 NOT NULL DEFAULT 0,
            has_worked bool NOT NULL DEFAULT true   -- of a call: whether its device ever got a push
        ) WITH (\(freshStatistics));
        CREATE INDEX push_by_deduplication_key ON push (deduplication_key);
        -- For servers of 0.3.0, and for figures.
        CREATE INDEX push_due ON push (server, route, trust, next_attempt_at, id) WHERE \(OpenPushes.due);
        CREATE INDEX push_open ON push (id) WHERE \(OpenPushes.inOrder);
        CREATE INDEX push_open_by_target ON push (key_hash, installation_id, id) WHERE \(OpenPushes.ofTarget);
        CREATE INDEX push_open_by_registration ON push (registration) WHERE \(OpenPushes.ofTarget) AND registration IS NOT NULL;
        CREATE INDEX push_open_by_device ON push (device, id) WHERE \(OpenPushes.ofDevice);
        \(deliveryIndexes);
        CREATE INDEX push_finished ON push (finished_at) WHERE finished_at IS NOT NULL;
        CREATE TABLE route (
            token_type int8 NOT NULL,
            apn_topic bytea NOT NULL,               -- empty for all bundle ids without a row of their own
            name bytea NOT NULL,
            PRIMARY KEY (token_type, apn_topic)
        );
        \(routeHoldTable);
        CREATE TABLE delivered_topic (
            route bytea NOT NULL,
            apn_topic bytea NOT NULL,               -- empty for Android
            PRIMARY KEY (route, apn_topic)
        );
        CREATE TABLE suspect_token (
            token_digest bytea PRIMARY KEY,
            suspected_at int8 NOT NULL,
            tried_at int8 NOT NULL,                 -- the newest refusal
            route bytea NOT NULL DEFAULT '',
            refusals int8 NOT NULL DEFAULT 1,
            counted_refusals int8 NOT NULL DEFAULT 0,
            first_counted_at int8,
            is_proven bool NOT NULL DEFAULT true
        );
        CREATE INDEX suspect_token_by_time ON suspect_token (tried_at);
        CREATE INDEX suspect_token_by_route ON suspect_token (route, suspected_at) WHERE is_proven;
        CREATE TABLE proven_token (
            token_digest bytea PRIMARY KEY,
            delivered_at int8 NOT NULL,
            first_delivered_at int8                 -- NULL in a row of 0.1.0, where the last stands for it
        );
        CREATE INDEX proven_token_by_time ON proven_token (delivered_at);
        CREATE TABLE dead_registration (
            id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            died_at int8 NOT NULL,
            reason bytea NOT NULL,
            route bytea NOT NULL,
            plain_topic int8 NOT NULL,
            prefixed_topic int8 NOT NULL,
            key_hash bytea NOT NULL,
            plaintext_digest bytea NOT NULL,
            secrets bytea                           -- protobuf: the registration, sealed
        );
        CREATE INDEX dead_registration_by_time ON dead_registration (died_at);
        -- Each server counts in rows of its own, so that servers do not wait for each other's commits.
        CREATE TABLE ledger (
            server_name bytea NOT NULL,
            milestone bytea NOT NULL,
            count int8 NOT NULL,
            pruned int8 NOT NULL,
            PRIMARY KEY (server_name, milestone)
        );

        -- Unfinished rows that a running server could not read (`DamagedRowKind`).
        CREATE TABLE damaged_row (
            kind bytea NOT NULL,
            row int8 NOT NULL,
            PRIMARY KEY (kind, row)
        );
        -- What each server's clock showed last, and a step that it does not believe yet (`StoredClock`).
        CREATE TABLE clock (
            server_name bytea PRIMARY KEY,
            read_at int8 NOT NULL,
            expected_at int8,                       -- what it would have shown without the step; NULL without one
            held_for int8 NOT NULL                  -- how long servers of that name have run since the step, in nanoseconds
        );
        -- The days since 1970 on which pushes could be delivered.
        CREATE TABLE delivering_day (
            day int8 PRIMARY KEY,
            unused_budget int8 NOT NULL             -- how many registrations and devices may still be removed on it as unused
        );
        \(holeTables);
        \(lostTimeTable);

        CREATE TABLE nextcloud_device (
            identifier bytea PRIMARY KEY,
            push_token_hash bytea NOT NULL,
            platform bytea NOT NULL,
            secrets bytea,                          -- user key (SubjectPublicKeyInfo) and token, sealed
            token_code bytea,                       -- an HMAC of the token; this and the one for calls: NULL once removed
            topic bytea,
            voip_secrets bytea,                     -- the token for calls, sealed
            voip_token_code bytea,
            voip_topic bytea,
            created_at int8 NOT NULL,
            updated_at int8 NOT NULL,
            used_at int8 NOT NULL,                  -- the last registration or notification, to the day
            removed_at int8,                        -- NULL while it is registered
            is_dead bool NOT NULL                   -- whether it was removed because its token was dead
        );
        CREATE INDEX nextcloud_device_by_token_code ON nextcloud_device (token_code) WHERE token_code IS NOT NULL;
        CREATE INDEX nextcloud_device_by_voip_token_code ON nextcloud_device (voip_token_code) WHERE voip_token_code IS NOT NULL;
        CREATE INDEX nextcloud_device_removed ON nextcloud_device (removed_at) WHERE removed_at IS NOT NULL;
        CREATE INDEX nextcloud_device_by_use ON nextcloud_device (used_at) WHERE removed_at IS NULL;
        CREATE TABLE nextcloud_origin_key (
            user_name bytea PRIMARY KEY,
            secrets bytea                           -- PKCS#1, under a key that follows from the server's, sealed
        );
        CREATE TABLE nextcloud_origin_device (
            id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            user_name bytea NOT NULL,
            token_id int8 NOT NULL,                 -- the app password
            identifier bytea NOT NULL,
            public_key bytea NOT NULL,              -- SubjectPublicKeyInfo
            push_token_hash bytea NOT NULL,
            proxy bytea NOT NULL,
            app_type bytea NOT NULL,
            last_seen int8,
            created_at int8 NOT NULL,
            UNIQUE (user_name, token_id)
        );
        CREATE TABLE nextcloud_origin_push (
            id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            server int8 NOT NULL,                   -- the owner
            device int8 NOT NULL,
            proxy bytea NOT NULL,
            secrets bytea,                          -- subject and signature, sealed
            priority bytea NOT NULL,
            kind bytea NOT NULL,
            expires_at int8 NOT NULL
        );
        CREATE INDEX nextcloud_origin_push_by_proxy ON nextcloud_origin_push (proxy, id);
        CREATE INDEX nextcloud_origin_push_by_device ON nextcloud_origin_push (device)
        """

    /// Changes the tables of 0.3.0 into those of 0.4.0.
    ///
    /// Servers of 0.3.0 still use the database during a rolling update: none of their statements names what is new or dropped. An
    /// interrupted copy may run the statements again.
    static let changes = """
        ALTER TABLE push ADD COLUMN IF NOT EXISTS unanswered int8 NOT NULL DEFAULT 0,
            ADD COLUMN IF NOT EXISTS brought_forward int8 NOT NULL DEFAULT 0, ADD COLUMN IF NOT EXISTS broken int8 NOT NULL DEFAULT 0,
            ADD COLUMN IF NOT EXISTS has_worked bool NOT NULL DEFAULT true;
        \(deliveryIndexes);
        \(routeHoldTable);
        \(holeTables);
        \(lostTimeTable)
        """

    private static let routeHoldTable = """
        -- The routes that an operator holds (`RouteHold`).
        CREATE TABLE IF NOT EXISTS route_hold (
            route bytea PRIMARY KEY,
            started_at int8 NOT NULL,
            ends_at int8 NOT NULL
        )
        """

    private static let holeTables = """
        -- Periods in which nothing was received, and of which no store has a message (`Hole`).
        CREATE TABLE IF NOT EXISTS hole (
            pubsub_topic bytea NOT NULL,
            started_at int8 NOT NULL,
            ended_at int8 NOT NULL,
            found_at int8 NOT NULL,
            PRIMARY KEY (pubsub_topic, started_at)
        );
        -- When each server began to list a topic's holes the last time that it listed all.
        CREATE TABLE IF NOT EXISTS hole_listing (
            pubsub_topic bytea NOT NULL,
            server_name bytea NOT NULL,
            listed_at int8 NOT NULL,
            PRIMARY KEY (pubsub_topic, server_name)
        )
        """

    private static let lostTimeTable = """
        -- Times whose writes are lost, because the database went back in time, as each server noticed (`LostTime`).
        CREATE TABLE IF NOT EXISTS lost_time (
            server_name bytea NOT NULL,
            noticed_at int8 NOT NULL,
            started_at int8 NOT NULL,
            ended_at int8 NOT NULL,
            PRIMARY KEY (server_name, noticed_at)
        )
        """

    static let deliveryIndexes = """
        CREATE INDEX IF NOT EXISTS push_waiting ON push (server, route, trust, device, id) WHERE \(OpenPushes.waiting);
        CREATE INDEX IF NOT EXISTS push_uncertain ON push (server, route, attempted_at) WHERE \(OpenPushes.uncertain)
        """

    /// The storage parameters of the queues. PostgreSQL renews their statistics after 1,000 changes, at most once a minute. By default it
    /// waits for changes of a tenth of the rows. Beside two days of finished rows it would still expect an empty queue when 100,000
    /// pushes wait, and read all of them in statements about a few.
    private static let freshStatistics = "autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 1000"
}
