/// 14/WAKU2-MESSAGE, as nodes carry it (PROTOCOL.md §4).
package struct WakuMessage: WireMessage {
    package var payload: [UInt8] = []
    package var contentTopic = ""
    /// 1 = RFC 26 payload; any other version, and none, is not for us.
    package var version: UInt32 = 0
    /// Nanoseconds since the epoch, as the sender claims.
    package var timestamp: Int64?
    package var meta: [UInt8] = []
    package var ephemeral = false

    package init() {}
}
