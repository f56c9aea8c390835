/// A segment of a long message (PROTOCOL.md §5.1).
package struct SegmentMessage: WireMessage {
    /// The whole message's keccak256, 32 bytes.
    package var entireMessageHash: [UInt8] = []
    package var index: UInt32 = 0
    package var segmentsCount: UInt32 = 0
    package var payload: [UInt8] = []
    package var paritySegmentIndex: UInt32 = 0
    package var paritySegmentsCount: UInt32 = 0

    package init() {}

    package init(reading reader: inout WireReader) throws(WireError) {
        while let field = try reader.nextField() {
            switch field {
            case .bytes(1): entireMessageHash = try reader.readBytes()
            case .varint(2): index = try reader.readUInt32()
            case .varint(3): segmentsCount = try reader.readUInt32()
            case .bytes(4): payload = try reader.readBytes()
            case .varint(5): paritySegmentIndex = try reader.readUInt32()
            case .varint(6): paritySegmentsCount = try reader.readUInt32()
            default: try reader.skip(field)
            }
        }
    }

    package func write(to writer: inout WireWriter) {
        writer.write(entireMessageHash, 1)
        writer.write(index, 2)
        writer.write(segmentsCount, 3)
        writer.write(payload, 4)
        writer.write(paritySegmentIndex, 5)
        writer.write(paritySegmentsCount, 6)
    }
}

extension SegmentMessage {
    /// Whether the bytes are a segment rather than a whole message: they parse as a segment, the payload is not empty, and the counts fit a
    /// data segment or a parity segment (PROTOCOL.md §5.1). Copies nothing.
    ///
    /// A plain `ApplicationMetadataMessage` parses as a segment too, with its type as `segments_count`, but without payload.
    package static func isSegment(_ bytes: Span<UInt8>) -> Bool {
        var reader = WireReader(bytes, of: Self.self)
        var hasPayload = false
        var segmentsCount: UInt32 = 0
        var paritySegmentsCount: UInt32 = 0
        do {
            while let field = try reader.nextField() {
                switch field {
                case .varint(3): segmentsCount = try reader.readUInt32()
                case .bytes(4): hasPayload = try !reader.readSpan().isEmpty
                case .varint(6): paritySegmentsCount = try reader.readUInt32()
                default: try reader.skip(field)
                }
            }
        } catch {
            return false
        }
        return hasPayload && (segmentsCount >= 2 || segmentsCount == 0 && paritySegmentsCount > 0)
    }

    /// Whether an array's bytes are a segment.
    package static func isSegment(_ bytes: [UInt8]) -> Bool {
        isSegment(bytes.span)
    }
}
