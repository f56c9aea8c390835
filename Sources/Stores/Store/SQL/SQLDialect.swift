/// The words in which the statements of the two databases differ.
package struct SQLDialect: Sendable {
    /// The column with the user of a Nextcloud device; `user` is a word of PostgreSQL's.
    package let user: String
    /// Whether a column of hashes has its index on the first 8 bytes, in a column next to it.
    package let hasPrefixes: Bool
    /// The column by which a device of the Nextcloud proxy is found again in the same statement.
    package let proxyDeviceRow: String
    /// Whether a row of `message` is unfinished.
    package let isUnfinished: String
    /// The condition for messages with the id of a status message, which an index covers.
    package let hasStatusMessageID: String
    /// The condition that a push is open, in statements about the queues of servers.
    package let isWaiting: String
    /// The same, in statements about the pushes of one device.
    package let isOfDevice: String
    /// The same, for pushes that may have been sent.
    package let isUncertain: String
    /// The same, in statements about the pushes to an installation, whose key hash is `$1` and whose id is `$2`.
    package let isOpenOfTarget: String
    /// The live registrations with their topics and lists, after `FROM`.
    package let liveRegistrations: String
    /// The columns with the topics of a live registration.
    package let topics: String
    /// The end of a query for rows that the transaction changes next. SQLite has a single writer, and locks no rows.
    package let forUpdate: String
    /// The same, without rows that another transaction has locked.
    package let skippingLocked: String
    /// Whether waiting pushes name the server that owns them.
    package let hasOwners: Bool
    /// A query for the names of the servers that are running.
    package let livingServers: String
    /// The condition that a push which its row names is open.
    package let isOpenRow: String
    /// The position where a step of re-sealing begins.
    package let firstPosition: String
    /// Whether the database is compacted after re-sealing.
    package let needsCompaction: Bool

    // Rows by a hash, the parameter `$1`, whose first 8 bytes are `$2`. The texts are made once, because queries of each message have them.

    /// The condition for pushes by their deduplication key.
    package let isPush: String
    /// The condition for rows by the hash of their owner's key.
    package let isOfKey: String
    /// The condition for devices of the Nextcloud proxy by their identifier.
    package let isProxyDevice: String

    package init(
        user: String, hasPrefixes: Bool, proxyDeviceRow: String, isUnfinished: String, hasStatusMessageID: String, isWaiting: String,
        isOfDevice: String, isUncertain: String, isOpenOfTarget: String, liveRegistrations: String, topics: String, forUpdate: String,
        skippingLocked: String, hasOwners: Bool, livingServers: String, isOpenRow: String, firstPosition: String, needsCompaction: Bool
    ) {
        self.user = user
        self.hasPrefixes = hasPrefixes
        self.proxyDeviceRow = proxyDeviceRow
        self.isUnfinished = isUnfinished
        self.hasStatusMessageID = hasStatusMessageID
        self.isWaiting = isWaiting
        self.isOfDevice = isOfDevice
        self.isUncertain = isUncertain
        self.isOpenOfTarget = isOpenOfTarget
        self.liveRegistrations = liveRegistrations
        self.topics = topics
        self.forUpdate = forUpdate
        self.skippingLocked = skippingLocked
        self.hasOwners = hasOwners
        self.livingServers = livingServers
        self.isOpenRow = isOpenRow
        self.firstPosition = firstPosition
        self.needsCompaction = needsCompaction
        func isHash(_ column: String, prefix: String) -> String {
            hasPrefixes ? "\(prefix) = $2 AND \(column) = $1" : "\(column) = $1"
        }
        isPush = isHash("deduplication_key", prefix: "deduplication_prefix")
        isOfKey = isHash("key_hash", prefix: "key_prefix")
        isProxyDevice = isHash("identifier", prefix: "identifier_prefix")
    }

    /// The condition, after others, that a push belongs to the server of a parameter.
    package func isOwned(_ parameter: String) -> String { hasOwners ? "AND push.server = \(parameter)" : "" }
}
