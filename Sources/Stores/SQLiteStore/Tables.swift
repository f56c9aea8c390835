/// The tables of the database.
///
/// An index on the first 8 bytes (`…_prefix`) finds keys and hashes of 32 and 64 bytes; statements then compare all bytes. An index on
/// the complete blob would take five times the bytes of a registration. Times are nanoseconds since 1970.
enum Tables {
    static let all = """
        PRAGMA application_id = \(Schema.applicationID);

        CREATE TABLE identity (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            public_key BLOB NOT NULL
        ) STRICT;
        -- The sealing keys whose values the database has: each with the secret of the database, sealed with the key.
        CREATE TABLE sealing_key (
            key_id INTEGER PRIMARY KEY,
            secret BLOB NOT NULL
        ) STRICT;
        -- The progress of re-sealing (`ResealingState`).
        CREATE TABLE sealing (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            key_id INTEGER NOT NULL,                -- the key that seals new values
            step INTEGER NOT NULL,                  -- `ResealingStep`
            position INTEGER NOT NULL,              -- the last row of the step's table that was re-sealed
            needs_compaction INTEGER NOT NULL       -- whether the next start compacts the file
        ) STRICT;
        -- Takes the free pages of the file, so that they are overwritten.
        CREATE TABLE overwriting (
            id INTEGER PRIMARY KEY,
            content BLOB NOT NULL
        ) STRICT;
        -- Written to when the disk has failed, to see whether it works again.
        CREATE TABLE probe (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            count INTEGER NOT NULL
        ) STRICT;

        -- A row per installation, which a tombstone keeps permanently.
        CREATE TABLE registration (
            id INTEGER PRIMARY KEY,
            key_prefix INTEGER NOT NULL,
            is_live INTEGER NOT NULL,
            was_registered INTEGER NOT NULL DEFAULT 1, -- 0 for a tombstone without an earlier registration
            version INTEGER NOT NULL,               -- the bits of a UInt64
            updated_at INTEGER NOT NULL,
            key_hash BLOB NOT NULL,
            installation_prefix INTEGER NOT NULL,   -- of the SHA-256 of the id: the id itself makes the index three times as large
            installation_id TEXT NOT NULL,
            plaintext_digest BLOB NOT NULL,
            token_type INTEGER,                     -- this and the columns below: NULL in a tombstone
            enabled INTEGER,
            allow_from_contacts_only INTEGER,
            block_mentions INTEGER,
            apn_topic TEXT,
            grant_signature BLOB,
            blocked_chats BLOB,                     -- this and the two below: sorted fingerprints of the entries; NULL when it is empty
            muted_chats BLOB,
            allowed_mentions_chats BLOB,
            delivered_at INTEGER,                   -- the last delivery to the token and bundle id, to the day
            first_delivered_at INTEGER,             -- the first; NULL in a row of 0.1.0, where the last stands for it
            secrets BLOB,                           -- access token and device token, sealed
            token_code BLOB                         -- an HMAC of the device token
        ) STRICT;
        CREATE INDEX registration_by_key ON registration (key_prefix, is_live, installation_prefix);
        CREATE INDEX registration_by_token_code ON registration (token_code) WHERE token_code IS NOT NULL;
        -- Separate, because a push request must not have to read it.
        CREATE TABLE registration_lists (
            registration INTEGER PRIMARY KEY,
            sealed_allowed_keys BLOB,               -- protobuf: the list alone; NULL when it is empty
            sealed_chat_lists BLOB                  -- protobuf: the three chat lists; NULL when all are empty
        ) STRICT;
        -- Topics of live registrations. Narrow, because each start reads the whole table.
        CREATE TABLE query_topic (
            registration INTEGER PRIMARY KEY,
            plain INTEGER NOT NULL,
            prefixed INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE topic_key (
            id INTEGER PRIMARY KEY,
            key_prefix INTEGER NOT NULL,
            is_prefixed INTEGER NOT NULL,
            key_hash BLOB NOT NULL,
            topic_key BLOB NOT NULL
        ) STRICT;
        CREATE INDEX topic_key_by_key ON topic_key (key_prefix);

        CREATE TABLE message (
            id INTEGER PRIMARY KEY,                 -- rises, and is never given twice: the newest row is not deleted
            state INTEGER NOT NULL,
            received_at INTEGER NOT NULL,
            sent_at INTEGER NOT NULL,               -- as its sender says; 0 when it does not
            decided_at INTEGER,
            hash BLOB NOT NULL,
            ignore_reason INTEGER,
            reply_type INTEGER,
            status_prefix INTEGER,
            status_message_id BLOB,
            recipient BLOB,
            pubsub_topic TEXT,                      -- of the envelope; after the decision, of the reply
            sealed_reply BLOB,
            envelope BLOB                           -- protobuf; NULL after the decision
        ) STRICT;
        -- The hash covers the time, so both find the same row. With the time first, rows that arrive together are next to each other. By
        -- the hash alone each would be written to an index page of its own.
        CREATE UNIQUE INDEX message_by_hash ON message (sent_at, hash);
        CREATE INDEX message_by_status_id ON message (status_prefix) WHERE status_prefix IS NOT NULL;
        -- Messages that are undecided, or whose reply is not marked as published. A table instead of an index on the state, because to
        -- mark a reply would write the row of its message a third time.
        CREATE TABLE unfinished_message (
            message INTEGER PRIMARY KEY,
            recipient_prefix INTEGER,               -- this and the one below: of the response to a registration, which a newer one of
            installation_prefix INTEGER             -- the same client replaces; the installation is NULL if it names none
        ) STRICT;
        CREATE INDEX unfinished_message_by_recipient ON unfinished_message (recipient_prefix) WHERE recipient_prefix IS NOT NULL;
        CREATE TABLE checkpoint (
            pubsub_topic TEXT PRIMARY KEY,
            received_until INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE push (
            id INTEGER PRIMARY KEY,                 -- as that of messages
            message INTEGER NOT NULL,               -- the request; 0 for a push of a gateway
            state INTEGER NOT NULL,
            route TEXT NOT NULL,
            trust INTEGER NOT NULL,                 -- `PushTrust`
            accepted_at INTEGER NOT NULL,
            next_attempt_at INTEGER NOT NULL,       -- 0, or a time; the greatest number while it is set aside
            attempted_at INTEGER,                   -- by the monotonic clock; this and the reason: of the newest attempt
            reason TEXT,
            words TEXT,                             -- what Apple or Google said to the newest attempt that failed
            refused_at INTEGER,                     -- this and the two below: `PushRefusals`
            counted_refusals INTEGER NOT NULL DEFAULT 0,
            shortening INTEGER NOT NULL DEFAULT 0,
            finished_at INTEGER,                    -- NULL while the push is open
            attempts INTEGER NOT NULL,
            deduplication_prefix INTEGER NOT NULL,
            deduplication_key BLOB NOT NULL,
            key_hash BLOB NOT NULL,
            installation_id TEXT NOT NULL,
            token_type INTEGER NOT NULL,
            type INTEGER NOT NULL,
            apn_topic TEXT NOT NULL,
            secrets BLOB,                           -- `PushSecrets`, sealed; NULL once finished
            registration INTEGER,                   -- the row it goes to; NULL for a push of a gateway
            device BLOB,                            -- 8 bytes that distinguish the device it goes to
            unanswered INTEGER NOT NULL DEFAULT 0,  -- this and the two below: `UncertainAttempts`
            brought_forward INTEGER NOT NULL DEFAULT 0,
            broken INTEGER NOT NULL DEFAULT 0,
            has_worked INTEGER NOT NULL DEFAULT 1   -- of a call: whether its device ever got a push
        ) STRICT;
        CREATE INDEX push_by_deduplication_key ON push (deduplication_prefix);
        -- Open pushes: by route, trust and device, in the order of acceptance, which is that of the rows, and by installation. SQLite
        -- counts from a partial index alone only if the column of the condition is in it.
        CREATE INDEX push_open ON push (finished_at) WHERE finished_at IS NULL;
        CREATE INDEX push_by_target ON push (substr(key_hash, 1, 8), installation_id) WHERE finished_at IS NULL;
        CREATE INDEX push_by_device ON push (device) WHERE finished_at IS NULL;
        \(deliveryIndexes)
        CREATE INDEX push_finished ON push (finished_at) WHERE finished_at IS NOT NULL;
        -- The queue of a push: that of its type and bundle id, else that of its type ('').
        CREATE TABLE route (
            token_type INTEGER NOT NULL,
            apn_topic TEXT NOT NULL,
            name TEXT NOT NULL,
            PRIMARY KEY (token_type, apn_topic)
        ) STRICT, WITHOUT ROWID;
        \(routeHoldTable)
        -- Bundle ids that a push was ever delivered to, by route; '' for Android.
        CREATE TABLE delivered_topic (
            route TEXT NOT NULL,
            apn_topic TEXT NOT NULL,
            PRIMARY KEY (route, apn_topic)
        ) STRICT, WITHOUT ROWID;
        -- Device tokens that may be dead, by an HMAC of their SHA-256 (`Suspicion`).
        CREATE TABLE suspect_token (
            token_digest BLOB PRIMARY KEY,
            suspected_at INTEGER NOT NULL,
            tried_at INTEGER NOT NULL,              -- the newest refusal
            route TEXT NOT NULL DEFAULT '',
            refusals INTEGER NOT NULL DEFAULT 1,
            counted_refusals INTEGER NOT NULL DEFAULT 0,
            first_counted_at INTEGER,
            is_proven INTEGER NOT NULL DEFAULT 1
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX suspect_token_by_time ON suspect_token (tried_at);
        CREATE INDEX suspect_token_by_route ON suspect_token (route, suspected_at) WHERE is_proven = 1;
        -- Device tokens without registration, such as gateways', that have taken a push: by an HMAC of their SHA-256.
        CREATE TABLE proven_token (
            token_digest BLOB PRIMARY KEY,
            delivered_at INTEGER NOT NULL,          -- the last time, to the day
            first_delivered_at INTEGER              -- NULL in a row of 0.1.0, where the last stands for it
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX proven_token_by_time ON proven_token (delivered_at);
        -- Registrations that were removed because their device token was dead, to be restored if that was a mistake.
        CREATE TABLE dead_registration (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            died_at INTEGER NOT NULL,
            reason TEXT NOT NULL,
            route TEXT NOT NULL,
            plain_topic INTEGER NOT NULL,
            prefixed_topic INTEGER NOT NULL,
            key_hash BLOB NOT NULL,
            plaintext_digest BLOB NOT NULL,
            secrets BLOB                            -- protobuf: the registration, sealed
        ) STRICT;
        CREATE INDEX dead_registration_by_time ON dead_registration (died_at);
        -- How often each milestone was reached, and how many of the rows that stood for it were pruned.
        CREATE TABLE ledger (
            milestone TEXT PRIMARY KEY,
            count INTEGER NOT NULL,
            pruned INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        -- How many of the row numbers up to the newest row no row ever had, in a database that was copied from PostgreSQL.
        CREATE TABLE unused_number (
            table_name TEXT PRIMARY KEY,
            count INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        -- Unfinished rows that the running server could not read (`DamagedRowKind`).
        CREATE TABLE damaged_row (
            kind TEXT NOT NULL,
            row INTEGER NOT NULL,
            PRIMARY KEY (kind, row)
        ) STRICT, WITHOUT ROWID;
        -- What the server's clock showed last, and a step that it does not believe yet (`StoredClock`).
        CREATE TABLE clock (
            server_name TEXT PRIMARY KEY,           -- always the empty text: no other server uses the file
            read_at INTEGER NOT NULL,
            expected_at INTEGER,                    -- what it would have shown without the step; NULL without one
            held_for INTEGER NOT NULL               -- how long servers have run since the step, in nanoseconds
        ) STRICT, WITHOUT ROWID;
        -- The days since 1970 on which pushes could be delivered.
        CREATE TABLE delivering_day (
            day INTEGER PRIMARY KEY,
            unused_budget INTEGER NOT NULL          -- how many registrations and devices may still be removed on it as unused
        ) STRICT;
        \(holeTables)

        CREATE TABLE nextcloud_device (
            id INTEGER PRIMARY KEY,
            identifier_prefix INTEGER NOT NULL,
            identifier BLOB NOT NULL,
            push_token_hash BLOB NOT NULL,
            platform TEXT NOT NULL,
            secrets BLOB,                           -- user key (SubjectPublicKeyInfo) and token, sealed
            token_code BLOB,                        -- an HMAC of the token; this and the one for calls: NULL once removed
            topic TEXT,
            voip_secrets BLOB,                      -- the token for calls, sealed
            voip_token_code BLOB,
            voip_topic TEXT,
            created_at INTEGER NOT NULL,
            updated_at INTEGER NOT NULL,
            used_at INTEGER NOT NULL,               -- the last registration or notification, to the day
            removed_at INTEGER,                     -- NULL while it is registered
            is_dead INTEGER NOT NULL                -- whether it was removed because its token was dead
        ) STRICT;
        CREATE INDEX nextcloud_device_by_identifier ON nextcloud_device (identifier_prefix);
        CREATE INDEX nextcloud_device_by_token_code ON nextcloud_device (token_code) WHERE token_code IS NOT NULL;
        CREATE INDEX nextcloud_device_by_voip_token_code ON nextcloud_device (voip_token_code) WHERE voip_token_code IS NOT NULL;
        CREATE INDEX nextcloud_device_removed ON nextcloud_device (removed_at) WHERE removed_at IS NOT NULL;
        CREATE INDEX nextcloud_device_by_use ON nextcloud_device (used_at) WHERE removed_at IS NULL;
        -- Users of the Nextcloud origin: the key that signs for each.
        CREATE TABLE nextcloud_origin_key (
            user TEXT PRIMARY KEY,
            secrets BLOB                            -- PKCS#1, under a key that follows from the server's, sealed
        ) STRICT, WITHOUT ROWID;
        -- Their devices. No number is given twice, here and below: a late response must find no other.
        CREATE TABLE nextcloud_origin_device (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            user TEXT NOT NULL,
            token_id INTEGER NOT NULL,              -- the app password
            identifier TEXT NOT NULL,
            public_key BLOB NOT NULL,               -- SubjectPublicKeyInfo
            push_token_hash TEXT NOT NULL,
            proxy TEXT NOT NULL,
            app_type TEXT NOT NULL,
            last_seen INTEGER,
            created_at INTEGER NOT NULL,
            UNIQUE (user, token_id)
        ) STRICT;
        -- Pushes to them that wait.
        CREATE TABLE nextcloud_origin_push (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            device INTEGER NOT NULL,
            proxy TEXT NOT NULL,                    -- the device's, in whose queue it waits
            secrets BLOB,                           -- subject and signature, sealed
            priority TEXT NOT NULL,
            kind TEXT NOT NULL,
            expires_at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX nextcloud_origin_push_by_proxy ON nextcloud_origin_push (proxy);
        CREATE INDEX nextcloud_origin_push_by_device ON nextcloud_origin_push (device);
        CREATE INDEX nextcloud_origin_push_calls ON nextcloud_origin_push (proxy) WHERE kind = 'voip';
        """

    /// Changes the tables of 0.3.0 into those of 0.4.0.
    static let changes = """
        ALTER TABLE push ADD COLUMN unanswered INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE push ADD COLUMN brought_forward INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE push ADD COLUMN broken INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE push ADD COLUMN has_worked INTEGER NOT NULL DEFAULT 1;
        DROP INDEX push_due;
        \(deliveryIndexes)
        \(routeHoldTable)
        \(holeTables)
        """

    private static let routeHoldTable = """
        -- The routes that an operator holds (`RouteHold`).
        CREATE TABLE route_hold (
            route TEXT PRIMARY KEY,
            started_at INTEGER NOT NULL,
            ends_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """

    private static let holeTables = """
        -- Periods in which nothing was received, and of which no store has a message (`Hole`).
        CREATE TABLE hole (
            pubsub_topic TEXT NOT NULL,
            started_at INTEGER NOT NULL,
            ended_at INTEGER NOT NULL,
            found_at INTEGER NOT NULL,
            PRIMARY KEY (pubsub_topic, started_at)
        ) STRICT;
        -- When each server began to list a topic's holes the last time that it listed all.
        CREATE TABLE hole_listing (
            pubsub_topic TEXT NOT NULL,
            server_name TEXT NOT NULL,              -- always the empty text: no other server uses the file
            listed_at INTEGER NOT NULL,
            PRIMARY KEY (pubsub_topic, server_name)
        ) STRICT;
        """

    private static let deliveryIndexes = """
        CREATE INDEX push_waiting ON push (route, trust, device, id, next_attempt_at, finished_at) WHERE finished_at IS NULL;
        CREATE INDEX push_uncertain ON push (route, attempted_at) WHERE finished_at IS NULL AND state = 7;
        """
}
