/// The rules of pubsub topic names.
package enum PubsubTopic {
    /// Whether the topic names a static shard: `/waku/2/rs/<cluster>/<shard>`, both 16-bit decimals without leading zeros (WAKU_REST.md
    /// §2.5).
    package static func isStaticShard(_ topic: String) -> Bool {
        let parts = topic.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0...3].elementsEqual(["", "waku", "2", "rs"]) else { return false }
        return parts[4...].allSatisfy { part in UInt16(part).map { String($0) == part } ?? false }
    }
}
