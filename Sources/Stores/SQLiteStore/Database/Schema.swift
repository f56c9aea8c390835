import Bytes
import GRDB
import StatusCrypto
import Store
import Wire

/// The tables of the database, and the check that the database belongs to this program and identity.
///
/// An index on the first 8 bytes (`…_prefix`) finds keys and hashes of 32 and 64 bytes; statements then compare all bytes. An index on the
/// complete blob would take five times the bytes of a registration. Times are nanoseconds since 1970. Each migration is one transaction. A
/// released migration is never edited.
struct Schema {
    /// `push` in ASCII, in SQLite's header, which distinguishes our files from those of other programs.
    static let applicationID: Int64 = 0x7075_7368

    /// The server's compressed public key.
    let identity: FixedBytes<33>
    /// The secret (``DatabaseSecrets``) for a database that has none yet.
    let newListKey: FixedBytes<32>

    var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        // Before the first release the tables changed under the name "1". A database of that time is refused, because it would be misread.
        migrator.registerMigration("first-release") { database in
            try database.execute(sql: Self.firstRelease)
            try database.run("INSERT INTO identity (id, public_key) VALUES (1, ?)", identity)
        }
        migrator.registerMigration("list-fingerprints") { database in
            try database.execute(sql: Self.listFingerprints)
            try database.run("UPDATE identity SET list_key = ?", newListKey)
            try fillFingerprints(database)
        }
        migrator.registerMigration("gateways") { try $0.execute(sql: Self.gateways) }
        migrator.registerMigration("pushes-by-target") { try $0.execute(sql: Self.pushesByTarget) }
        migrator.registerMigration("tombstones") { try $0.execute(sql: Self.tombstones) }
        migrator.registerMigration("deliveries") { try $0.execute(sql: Self.deliveries) }
        migrator.registerMigration("superseded-replies") { try $0.execute(sql: Self.supersededReplies) }
        migrator.registerMigration("nextcloud-origin") { try $0.execute(sql: Self.nextcloudOrigin) }
        migrator.registerMigration("deduplication-keys") { try $0.execute(sql: Self.deduplicationKeys) }
        migrator.registerMigration("push-trust") { try $0.execute(sql: Self.pushTrust) }
        migrator.registerMigration("device-use") { try $0.execute(sql: Self.deviceUse) }
        migrator.registerMigration("device-evidence") { try $0.execute(sql: Self.deviceEvidence) }
        migrator.registerMigration("nextcloud-origin-calls") {
            try $0.execute(sql: "CREATE INDEX nextcloud_origin_push_calls ON nextcloud_origin_push (proxy) WHERE kind = 'voip'")
        }
        migrator.registerMigration("sealing") { try $0.execute(sql: Self.sealing) }
        migrator.registerMigration("unused-numbers") { try $0.execute(sql: Self.unusedNumbers) }
        return migrator
    }

    /// Returns whether any program has created tables. GRDB's own table does not count, because GRDB creates it before our first migration
    /// commits: a server that was killed in between creates the tables at its next start.
    static func hasTables(_ database: Database) throws -> Bool {
        try database.count("SELECT count(*) FROM sqlite_schema WHERE tbl_name <> 'grdb_migrations'") != 0
    }

    /// Returns whether this program has created the tables.
    static func isOurs(_ database: Database) throws -> Bool {
        try database.first("PRAGMA application_id", read: { try $0.next(Int64.self) }) == applicationID
    }

    /// Checks a database before the program writes to it.
    ///
    /// - Throws: `StoreError` if the database belongs to another program, identity or version, or if it is read-only and not set up.
    func check(_ database: Database) throws {
        guard try Self.hasTables(database) else {
            if database.configuration.readonly { throw StoreError.notSetUp }
            return
        }
        guard try Self.isOurs(database) else { throw StoreError.notADatabase }
        guard try !migrator.hasBeenSuperseded(database) else { throw StoreError.unknownSchema }
        let owner = try database.first("SELECT public_key FROM identity") { try $0.next(FixedBytes<33>.self) }
        guard owner == identity else { throw StoreError.otherIdentity }
        guard try !database.configuration.readonly || migrator.hasCompletedMigrations(database) else { throw StoreError.notSetUp }
    }

    private func fillFingerprints(_ database: Database) throws {
        let fingerprints = ListFingerprints(key: newListKey)
        let sql = "SELECT registration, chat_lists FROM registration_lists WHERE chat_lists IS NOT NULL"
        try database.forEach(sql) { row in
            let (registration, lists): (Int64, PushNotificationRegistration) = (try row.next(), try row.nextMessage())
            try database.run(
                "UPDATE registration SET blocked_chats = ?, muted_chats = ?, allowed_mentions_chats = ? WHERE id = ?",
                fingerprints.column(for: lists.blockedChatList), fingerprints.column(for: lists.mutedChatList),
                fingerprints.column(for: lists.allowedMentionsChatList), registration)
        }
    }

    /// Adds a column for the sealed value of a row's secrets to each table with secrets. A row without sealed value is in clear, so the
    /// migration changes no row.
    private static let sealing = """
        -- The sealing keys whose values the database has: each with the secret of the database, sealed with the key.
        CREATE TABLE sealing_key (
            key_id INTEGER PRIMARY KEY,
            secret BLOB NOT NULL
        ) STRICT;
        -- The progress of re-sealing (`SealingState`); no row: the database is not sealed.
        CREATE TABLE sealing (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            key_id INTEGER NOT NULL,                -- the key that seals new values
            step INTEGER NOT NULL,                  -- `ResealingStep`
            position INTEGER NOT NULL,              -- the last row of the step's table that was re-sealed
            has_clear_rows INTEGER NOT NULL,        -- whether values in clear may remain, and the indexes for them exist
            needs_compaction INTEGER NOT NULL       -- whether the next start compacts the file
        ) STRICT;
        -- Takes the free pages of the file, so that they are overwritten.
        CREATE TABLE overwriting (
            id INTEGER PRIMARY KEY,
            content BLOB NOT NULL
        ) STRICT;

        -- Access token and device token, sealed; the columns in clear are NULL then. The code is an HMAC of the device token.
        ALTER TABLE registration ADD COLUMN secrets BLOB;
        ALTER TABLE registration ADD COLUMN token_code BLOB;
        CREATE INDEX registration_by_token_code ON registration (token_code) WHERE token_code IS NOT NULL;
        ALTER TABLE registration_lists ADD COLUMN sealed_allowed_keys BLOB;
        ALTER TABLE registration_lists ADD COLUMN sealed_chat_lists BLOB;
        ALTER TABLE dead_registration ADD COLUMN secrets BLOB;
        ALTER TABLE push ADD COLUMN secrets BLOB;
        ALTER TABLE message ADD COLUMN sealed_reply BLOB;
        ALTER TABLE nextcloud_device ADD COLUMN secrets BLOB;
        ALTER TABLE nextcloud_device ADD COLUMN token_code BLOB;
        ALTER TABLE nextcloud_device ADD COLUMN voip_secrets BLOB;
        ALTER TABLE nextcloud_device ADD COLUMN voip_token_code BLOB;
        CREATE INDEX nextcloud_device_by_token_code ON nextcloud_device (token_code) WHERE token_code IS NOT NULL;
        CREATE INDEX nextcloud_device_by_voip_token_code ON nextcloud_device (voip_token_code) WHERE voip_token_code IS NOT NULL;
        ALTER TABLE nextcloud_origin_key ADD COLUMN secrets BLOB;
        ALTER TABLE nextcloud_origin_push ADD COLUMN secrets BLOB;
        -- Whether the digest is an HMAC of the digest.
        ALTER TABLE suspect_token ADD COLUMN is_coded INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE proven_token ADD COLUMN is_coded INTEGER NOT NULL DEFAULT 0;
        """

    private static let unusedNumbers = """
        -- How many of the row numbers up to the newest row no row ever had, in a database that was copied from PostgreSQL.
        CREATE TABLE unused_number (
            table_name TEXT PRIMARY KEY,
            count INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """

    /// Moves the lists to a table of their own and adds fingerprints, so that a push request reads no list.
    private static let listFingerprints = """
        ALTER TABLE identity ADD COLUMN list_key BLOB NOT NULL DEFAULT x'';    -- secret

        -- Apart, because a push request must not have to read it.
        CREATE TABLE registration_lists (
            registration INTEGER PRIMARY KEY,
            allowed_keys BLOB,                      -- protobuf: the list alone; NULL when it is empty
            chat_lists BLOB                         -- protobuf: the three chat lists; NULL when all are empty
        ) STRICT;
        INSERT INTO registration_lists
            SELECT id, list, chat_lists FROM registration LEFT JOIN allowed_keys ON allowed_keys.registration = registration.id
            WHERE list IS NOT NULL OR chat_lists IS NOT NULL;
        DROP TABLE allowed_keys;
        ALTER TABLE registration DROP COLUMN chat_lists;

        -- Fingerprints of the entries of each chat list, sorted; NULL when it is empty.
        ALTER TABLE registration ADD COLUMN blocked_chats BLOB;
        ALTER TABLE registration ADD COLUMN muted_chats BLOB;
        ALTER TABLE registration ADD COLUMN allowed_mentions_chats BLOB;
        """

    private static let supersededReplies = """
        -- Of answers to registrations, which a newer one of the same client replaces: the recipient and the id of its installation, which
        -- is NULL where nobody can tell it.
        ALTER TABLE unfinished_message ADD COLUMN recipient_prefix INTEGER;
        ALTER TABLE unfinished_message ADD COLUMN installation_prefix INTEGER;
        CREATE INDEX unfinished_message_by_recipient ON unfinished_message (recipient_prefix) WHERE recipient_prefix IS NOT NULL;
        """

    /// Adds deliveries, which distinguish proven targets from invented ones.
    private static let deliveries = """
        -- When Apple or Google last took a push for the token and the bundle id, to the day; NULL: never.
        ALTER TABLE registration ADD COLUMN delivered_at INTEGER;
        -- The registration it goes to, by its row; NULL: a gateway's push, or one of an older release.
        ALTER TABLE push ADD COLUMN registration INTEGER;
        -- Bundle ids that a push was ever delivered to, by route; '' for Android.
        CREATE TABLE delivered_topic (
            route TEXT NOT NULL,
            apn_topic TEXT NOT NULL,
            PRIMARY KEY (route, apn_topic)
        ) STRICT, WITHOUT ROWID;
        """

    private static let gateways = """
        -- What a gateway wants a phone to get, in JSON; NULL: a push of 71, or one that has ended.
        ALTER TABLE push ADD COLUMN notification BLOB;

        -- Devices of the Nextcloud push proxy.
        CREATE TABLE nextcloud_device (
            id INTEGER PRIMARY KEY,
            identifier_prefix INTEGER NOT NULL,
            identifier BLOB NOT NULL,
            user_key BLOB NOT NULL,                 -- SubjectPublicKeyInfo
            push_token_hash BLOB NOT NULL,
            platform TEXT NOT NULL,
            token TEXT NOT NULL,                    -- this and the one for calls: empty and NULL once removed
            topic TEXT,
            voip_token TEXT,
            voip_topic TEXT,
            created_at INTEGER NOT NULL,
            updated_at INTEGER NOT NULL,
            removed_at INTEGER,                     -- NULL as long as it is registered
            is_dead INTEGER NOT NULL                -- removed because its token was
        ) STRICT;
        CREATE INDEX nextcloud_device_by_identifier ON nextcloud_device (identifier_prefix);
        CREATE INDEX nextcloud_device_by_token ON nextcloud_device (substr(token, 1, 16)) WHERE removed_at IS NULL;
        CREATE INDEX nextcloud_device_by_voip_token ON nextcloud_device (substr(voip_token, 1, 16)) WHERE voip_token IS NOT NULL;
        CREATE INDEX nextcloud_device_removed ON nextcloud_device (removed_at) WHERE removed_at IS NOT NULL;
        """

    private static let nextcloudOrigin = """
        -- Users of the Nextcloud origin: the key that signs for each.
        CREATE TABLE nextcloud_origin_key (
            user TEXT PRIMARY KEY,
            sealed BLOB NOT NULL                    -- PKCS#1, under a key that follows from the server's
        ) STRICT, WITHOUT ROWID;

        -- Their devices. No number is given twice, here and below: an answer that comes late must find no other.
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
            proxy TEXT NOT NULL,                    -- the device's, in whose queue it stands
            subject TEXT NOT NULL,
            signature TEXT NOT NULL,
            priority TEXT NOT NULL,
            kind TEXT NOT NULL,
            expires_at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX nextcloud_origin_push_by_proxy ON nextcloud_origin_push (proxy);
        CREATE INDEX nextcloud_origin_push_by_device ON nextcloud_origin_push (device);
        """

    private static let deviceEvidence = """
        -- Device tokens without registration, such as gateways', that have taken a push: by SHA-256, with the time of the last one to the
        -- day.
        CREATE TABLE proven_token (
            token_digest BLOB PRIMARY KEY,
            delivered_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX proven_token_by_time ON proven_token (delivered_at);
        -- When a push was last posted to a suspected token.
        ALTER TABLE suspect_token ADD COLUMN tried_at INTEGER NOT NULL DEFAULT 0;
        -- Nothing looks an attempt up by its notification id any more.
        DROP INDEX push_by_notification;
        """

    private static let deduplicationKeys = """
        ALTER TABLE push RENAME COLUMN triple TO deduplication_key;
        ALTER TABLE push RENAME COLUMN triple_prefix TO deduplication_prefix;
        DROP INDEX push_by_triple;
        CREATE INDEX push_by_deduplication_key ON push (deduplication_prefix);
        """

    private static let deviceUse = """
        -- When a device of the Nextcloud push proxy was last registered, or its server last sent it a notification, to the day.
        ALTER TABLE nextcloud_device ADD COLUMN used_at INTEGER NOT NULL DEFAULT 0;
        UPDATE nextcloud_device SET used_at = updated_at;
        CREATE INDEX nextcloud_device_by_use ON nextcloud_device (used_at) WHERE removed_at IS NULL;
        """

    private static let pushTrust = """
        -- Whether the target has worked: 0 yes, 1 no, 2 no, and the bundle id is unknown (`PushTrust`).
        ALTER TABLE push ADD COLUMN trust INTEGER NOT NULL DEFAULT 1;
        DROP INDEX push_due;
        UPDATE push SET trust = 0
            WHERE finished_at IS NULL AND registration IN (SELECT id FROM registration WHERE delivered_at IS NOT NULL);
        -- Open pushes: by route, trust and time, and in the order of acceptance, which is that of the rows. SQLite counts from a partial
        -- index alone only if the column of the condition is in it.
        CREATE INDEX push_due ON push (route, trust, next_attempt_at, id, finished_at) WHERE finished_at IS NULL;
        """

    private static let pushesByTarget = """
        -- Open pushes of an installation: they follow its registration.
        CREATE INDEX push_by_target ON push (substr(key_hash, 1, 8), installation_id) WHERE finished_at IS NULL;
        """

    private static let tombstones = """
        -- Of a tombstone: whether there was ever a registration; those of before are taken to have had one.
        ALTER TABLE registration ADD COLUMN was_registered INTEGER NOT NULL DEFAULT 1;
        """

    private static let firstRelease = """
        PRAGMA application_id = \(applicationID);

        CREATE TABLE identity (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            public_key BLOB NOT NULL
        ) STRICT;

        -- Written to when the disk has failed, to see whether it works again.
        CREATE TABLE probe (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            count INTEGER NOT NULL
        ) STRICT;

        -- A row an installation, for ever: a tombstone keeps the first columns only.
        CREATE TABLE registration (
            id INTEGER PRIMARY KEY,
            key_prefix INTEGER NOT NULL,
            is_live INTEGER NOT NULL,
            version INTEGER NOT NULL,               -- the bits of a UInt64
            updated_at INTEGER NOT NULL,
            key_hash BLOB NOT NULL,
            installation_prefix INTEGER NOT NULL,   -- of the SHA-256 of the id: the id itself makes the index three times as large
            installation_id TEXT NOT NULL,
            plaintext_digest BLOB NOT NULL,
            token_type INTEGER,
            enabled INTEGER,
            allow_from_contacts_only INTEGER,
            block_mentions INTEGER,
            access_token TEXT,
            device_token TEXT,
            apn_topic TEXT,
            grant_signature BLOB,
            chat_lists BLOB                         -- protobuf: the three chat lists; NULL when all are empty
        ) STRICT;
        CREATE INDEX registration_by_key ON registration (key_prefix, is_live, installation_prefix);
        CREATE INDEX registration_by_token ON registration (substr(device_token, 1, 16)) WHERE is_live = 1;

        -- Apart, because a push request must not have to read it.
        CREATE TABLE allowed_keys (
            registration INTEGER PRIMARY KEY,
            list BLOB NOT NULL                      -- protobuf: the list alone
        ) STRICT;

        -- Of live registrations. Narrow: the whole table is stepped through at every start.
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
            pubsub_topic TEXT,                      -- of the envelope; once decided, of the reply
            reply BLOB,
            envelope BLOB                           -- protobuf; until decided
        ) STRICT;
        -- The hash covers the time, so both find the same row; and with the time first, rows that arrive together stand together. By the
        -- hash alone each would be written to an index page of its own.
        CREATE UNIQUE INDEX message_by_hash ON message (sent_at, hash);
        CREATE INDEX message_by_status_id ON message (status_prefix) WHERE status_prefix IS NOT NULL;

        -- Messages that wait for their decision, or whose reply is not known to be out. A table and no index on the state: to mark a
        -- reply would write the row of its message a third time.
        CREATE TABLE unfinished_message (
            message INTEGER PRIMARY KEY
        ) STRICT;

        CREATE TABLE checkpoint (
            pubsub_topic TEXT PRIMARY KEY,
            received_until INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE push (
            id INTEGER PRIMARY KEY,                 -- as that of messages
            message INTEGER NOT NULL,               -- the request
            state INTEGER NOT NULL,
            route TEXT NOT NULL,                    -- in whose queue it stands
            accepted_at INTEGER NOT NULL,
            next_attempt_at INTEGER NOT NULL,       -- 0: at once; the greatest number: leased
            attempted_at INTEGER,                   -- this and the two below: of the newest attempt
            notification_id BLOB,
            reason TEXT,                            -- why it failed, or why the push ended so
            finished_at INTEGER,                    -- NULL as long as the push is open
            attempts INTEGER NOT NULL,
            triple_prefix INTEGER NOT NULL,
            triple BLOB NOT NULL,
            key_hash BLOB NOT NULL,
            installation_id TEXT NOT NULL,
            token_type INTEGER NOT NULL,
            type INTEGER NOT NULL,
            apn_topic TEXT NOT NULL,
            device_token TEXT NOT NULL,             -- this and the two below: empty once finished
            chat_id BLOB NOT NULL,
            ciphertext BLOB NOT NULL
        ) STRICT;
        CREATE INDEX push_by_triple ON push (triple_prefix);
        CREATE INDEX push_by_notification ON push (notification_id) WHERE notification_id IS NOT NULL;
        -- Open pushes: by route and time, and in the order of acceptance, which is that of the rows. SQLite counts from a partial index
        -- alone only if the column of the condition is in it.
        CREATE INDEX push_due ON push (route, next_attempt_at, id, finished_at) WHERE finished_at IS NULL;
        CREATE INDEX push_open ON push (finished_at) WHERE finished_at IS NULL;
        CREATE INDEX push_finished ON push (finished_at) WHERE finished_at IS NOT NULL;

        -- In which queue a push is put: that of its type and topic, else that of its type ('').
        CREATE TABLE route (
            token_type INTEGER NOT NULL,
            apn_topic TEXT NOT NULL,
            name TEXT NOT NULL,
            PRIMARY KEY (token_type, apn_topic)
        ) STRICT, WITHOUT ROWID;

        -- Device tokens that may be dead, by SHA-256, until a second verdict.
        CREATE TABLE suspect_token (
            token_digest BLOB PRIMARY KEY,
            suspected_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX suspect_token_by_time ON suspect_token (suspected_at);

        -- What was unregistered because its device token was dead, to be put back if that was a mistake.
        CREATE TABLE dead_registration (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            died_at INTEGER NOT NULL,
            reason TEXT NOT NULL,
            route TEXT NOT NULL,
            plain_topic INTEGER NOT NULL,
            prefixed_topic INTEGER NOT NULL,
            key_hash BLOB NOT NULL,
            plaintext_digest BLOB NOT NULL,
            content BLOB NOT NULL                   -- protobuf: the registration
        ) STRICT;
        CREATE INDEX dead_registration_by_time ON dead_registration (died_at);

        -- How often each milestone was reached, and how many of the rows that stood for it were pruned.
        CREATE TABLE ledger (
            milestone TEXT PRIMARY KEY,
            count INTEGER NOT NULL,
            pruned INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """
}
