/// A message of 14/WAKU2-MESSAGE, as nodes carry it (PROTOCOL.md §4).
///
/// Of the optional fields, only the timestamp keeps whether it was present. A version, meta or ephemeral flag with its default value means
/// the same as none, and is not written.
package struct WakuMessage: WireMessage {
    package var payload: [UInt8] = []
    package var contentTopic = ""
    /// Versions 0 and 1 both label an RFC 26 payload. Messages of any other version are ignored (PROTOCOL.md §3).
    package var version: UInt32 = 0
    /// Nanoseconds since the epoch, as the sender claims.
    package var timestamp: Int64?
    package var meta: [UInt8] = []
    package var ephemeral = false

    package init() {}

    package init(reading reader: inout WireReader) throws(WireError) {
        while let field = try reader.nextField() {
            switch field {
            case .bytes(1): payload = try reader.readBytes()
            case .bytes(2): contentTopic = try reader.readString()
            case .varint(3): version = try reader.readUInt32()
            case .varint(10): timestamp = try reader.readSInt64()
            case .bytes(11): meta = try reader.readBytes()
            case .varint(31): ephemeral = try reader.readBool()
            default: try reader.skip(field)
            }
        }
    }

    package func write(to writer: inout WireWriter) {
        writer.write(payload, 1)
        writer.write(contentTopic, 2)
        writer.write(version, 3)
        writer.write(zigzag: timestamp, 10)
        writer.write(meta, 11)
        writer.write(ephemeral, 31)
    }
}
