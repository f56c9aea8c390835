import GRDB
import TestSupport

/// A database of the first release.
enum FirstRelease {
    static func make(in folder: TemporaryFolder) throws {
        let queue = try DatabaseQueue(path: folder.database)
        try queue.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA journal_mode = WAL")
            try database.execute(sql: "BEGIN; \(dump) COMMIT")
        }
        try queue.close()
    }

    /// The output of SQLite's `.dump`, without comments.
    private static let dump = """
        PRAGMA application_id = 1886745448;

        CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
        CREATE TABLE identity (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            public_key BLOB NOT NULL
        ) STRICT;
        CREATE TABLE probe (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            count INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE registration (
            id INTEGER PRIMARY KEY,
            key_prefix INTEGER NOT NULL,
            is_live INTEGER NOT NULL,
            version INTEGER NOT NULL,
            updated_at INTEGER NOT NULL,
            key_hash BLOB NOT NULL,
            installation_prefix INTEGER NOT NULL,
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
            chat_lists BLOB
        ) STRICT;
        CREATE INDEX registration_by_key ON registration (key_prefix, is_live, installation_prefix);
        CREATE INDEX registration_by_token ON registration (substr(device_token, 1, 16)) WHERE is_live = 1;
        CREATE TABLE allowed_keys (
            registration INTEGER PRIMARY KEY,
            list BLOB NOT NULL
        ) STRICT;
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
            id INTEGER PRIMARY KEY,
            state INTEGER NOT NULL,
            received_at INTEGER NOT NULL,
            sent_at INTEGER NOT NULL,
            decided_at INTEGER,
            hash BLOB NOT NULL,
            ignore_reason INTEGER,
            reply_type INTEGER,
            status_prefix INTEGER,
            status_message_id BLOB,
            recipient BLOB,
            pubsub_topic TEXT,
            reply BLOB,
            envelope BLOB
        ) STRICT;
        CREATE UNIQUE INDEX message_by_hash ON message (sent_at, hash);
        CREATE INDEX message_by_status_id ON message (status_prefix) WHERE status_prefix IS NOT NULL;
        CREATE TABLE unfinished_message (
            message INTEGER PRIMARY KEY
        ) STRICT;
        CREATE TABLE checkpoint (
            pubsub_topic TEXT PRIMARY KEY,
            received_until INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE push (
            id INTEGER PRIMARY KEY,
            message INTEGER NOT NULL,
            state INTEGER NOT NULL,
            route TEXT NOT NULL,
            accepted_at INTEGER NOT NULL,
            next_attempt_at INTEGER NOT NULL,
            attempted_at INTEGER,
            notification_id BLOB,
            reason TEXT,
            finished_at INTEGER,
            attempts INTEGER NOT NULL,
            triple_prefix INTEGER NOT NULL,
            triple BLOB NOT NULL,
            key_hash BLOB NOT NULL,
            installation_id TEXT NOT NULL,
            token_type INTEGER NOT NULL,
            type INTEGER NOT NULL,
            apn_topic TEXT NOT NULL,
            device_token TEXT NOT NULL,
            chat_id BLOB NOT NULL,
            ciphertext BLOB NOT NULL
        ) STRICT;
        CREATE INDEX push_by_triple ON push (triple_prefix);
        CREATE INDEX push_by_notification ON push (notification_id) WHERE notification_id IS NOT NULL;
        CREATE INDEX push_due ON push (route, next_attempt_at, id, finished_at) WHERE finished_at IS NULL;
        CREATE INDEX push_open ON push (finished_at) WHERE finished_at IS NULL;
        CREATE INDEX push_finished ON push (finished_at) WHERE finished_at IS NOT NULL;
        CREATE TABLE route (
            token_type INTEGER NOT NULL,
            apn_topic TEXT NOT NULL,
            name TEXT NOT NULL,
            PRIMARY KEY (token_type, apn_topic)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE suspect_token (
            token_digest BLOB PRIMARY KEY,
            suspected_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX suspect_token_by_time ON suspect_token (suspected_at);
        CREATE TABLE dead_registration (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            died_at INTEGER NOT NULL,
            reason TEXT NOT NULL,
            route TEXT NOT NULL,
            plain_topic INTEGER NOT NULL,
            prefixed_topic INTEGER NOT NULL,
            key_hash BLOB NOT NULL,
            plaintext_digest BLOB NOT NULL,
            content BLOB NOT NULL
        ) STRICT;
        CREATE INDEX dead_registration_by_time ON dead_registration (died_at);
        CREATE TABLE ledger (
            milestone TEXT PRIMARY KEY,
            count INTEGER NOT NULL,
            pruned INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        INSERT INTO grdb_migrations VALUES ('first-release');
        INSERT INTO identity VALUES (1, x'020202020202020202020202020202020202020202020202020202020202020202');
        INSERT INTO registration VALUES (1, -6076574518398440533, 1, 1, 1800000000000000000, x'abababababababababababababababababababababababababababababababababababababababababababababababababababababababab0000000000000001', 2409117993839809712, 'installation-1', x'abababababababababababababababababababababababab0000000000000001', 1, 1, 1, 1, 'access token 1', 'device token 1', 'im.status.ethereum', x'0505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505', x'420104720106720207077a01087a00');
        INSERT INTO registration VALUES (2, -6076574518398440533, 1, 2, 1800000000000000000, x'abababababababababababababababababababababababababababababababababababababababababababababababababababababababab0000000000000001', -4281764656453909079, 'installation-2', x'abababababababababababababababababababababababab0000000000000002', 1, 1, 1, 1, 'access token 2', 'device token 2', 'im.status.ethereum', x'0505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505', NULL);
        INSERT INTO registration VALUES (3, -6076574518398440533, 0, 4, 1800000000000000000, x'abababababababababababababababababababababababababababababababababababababababababababababababababababababababab0000000000000002', 6830926721277275466, 'installation-3', x'abababababababababababababababababababababababab0000000000000009', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
        INSERT INTO registration VALUES (4, -6076574518398440533, 0, 1, 1800000000000000000, x'abababababababababababababababababababababababababababababababababababababababababababababababababababababababab0000000000000004', -6876093738360599390, 'installation-4', x'abababababababababababababababababababababababab0000000000000001', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
        INSERT INTO allowed_keys VALUES (1, x'3a01013a003a020203');
        INSERT INTO query_topic VALUES (1, 16909060, 4294901244);
        INSERT INTO query_topic VALUES (2, 16909060, 4294901244);
        INSERT INTO topic_key VALUES (1, -6076574518398440533, 1, x'abababababababababababababababababababababababababababababababababababababababababababababababababababababababab0000000000000001', x'0909090909090909090909090909090909090909090909090909090909090909');
        INSERT INTO message VALUES (1, 3, 1800000000000000000, 1800000000000000001, 1800000000000000000, x'abababababababababababababababababababababababab0000000000000001', NULL, 21, -6076574518398440533, x'abababababababababababababababababababababababab0000000000000007', x'030303030303030303030303030303030303030303030303030303030303030303', '/waku/2/rs/16/64', x'010001', NULL);
        INSERT INTO message VALUES (2, 3, 1800000000000000000, 1800000000000000002, 1800000000000000000, x'abababababababababababababababababababababababab0000000000000002', NULL, 21, -6076574518398440533, x'abababababababababababababababababababababababab0000000000000007', x'030303030303030303030303030303030303030303030303030303030303030303', '/waku/2/rs/16/64', x'020001', NULL);
        INSERT INTO message VALUES (3, 1, 1800000000000000000, 1800000000000000003, 1800000000000000000, x'abababababababababababababababababababababababab0000000000000003', 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
        INSERT INTO message VALUES (4, 0, 1800000000000000000, 1800000000000000004, NULL, x'abababababababababababababababababababababababab0000000000000004', NULL, NULL, NULL, NULL, NULL, '/waku/2/rs/16/4', NULL, x'0aac0204040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040412182f77616b752f312f307830313032303330342f72666332361801508880a0bbd29df1fa315a020102f80101');
        INSERT INTO unfinished_message VALUES (2);
        INSERT INTO unfinished_message VALUES (4);
        INSERT INTO checkpoint VALUES ('/waku/2/rs/16/32', 1800000000000000000);
        INSERT INTO push VALUES (1, 1, 1, 'ios', 1800000000000000000, 0, 1800000000000000000, x'abababababababab0000000000000001', NULL, 1800000000000000000, 1, -6076574518398440533, x'abababababababababababababababababababababababab0000000000000001', x'abababababababababababababababababababababababababababababababababababababababababababababababababababababababab0000000000000001', 'installation-1', 1, 2, 'topic', '', x'', x'');
        INSERT INTO push VALUES (2, 1, 0, 'ios', 1800000000000000000, 0, NULL, NULL, NULL, NULL, 0, -6076574518398440533, x'abababababababababababababababababababababababab0000000000000002', x'abababababababababababababababababababababababababababababababababababababababababababababababababababababababab0000000000000001', 'installation-2', 1, 2, 'topic', 'secret token', x'0909', x'736563726574206d657373616765');
        INSERT INTO push VALUES (3, 1, 6, 'ios', 1800000000000000000, 9223372036854775807, 1800000000000000000, x'abababababababab0000000000000003', NULL, NULL, 1, -6076574518398440533, x'abababababababababababababababababababababababab0000000000000003', x'abababababababababababababababababababababababababababababababababababababababababababababababababababababababab0000000000000001', 'installation-3', 1, 2, 'topic', 'secret token', x'0909', x'736563726574206d657373616765');
        INSERT INTO route VALUES (1, '', 'ios');
        INSERT INTO suspect_token VALUES (x'abababababababababababababababababababababababab000000000000000e', 1800000000000000000);
        INSERT INTO dead_registration VALUES (1, 1800000000000000000, 'Unregistered', 'ios', 16909060, 4294901244, x'abababababababababababababababababababababababababababababababababababababababababababababababababababababababab0000000000000004', x'abababababababababababababababababababababababab0000000000000001', x'0801120e64657669636520746f6b656e20311a0e696e7374616c6c6174696f6e2d34220e61636365737320746f6b656e2031280130013a01013a003a0202034201045241050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050558016212696d2e7374617475732e657468657265756d6801720106720207077a01087a00');
        INSERT INTO ledger VALUES ('accepted', 3, 0);
        INSERT INTO ledger VALUES ('ignored', 1, 0);
        INSERT INTO ledger VALUES ('processed', 2, 0);
        INSERT INTO ledger VALUES ('received', 4, 0);
        INSERT INTO ledger VALUES ('sent', 1, 0);
        """
}
