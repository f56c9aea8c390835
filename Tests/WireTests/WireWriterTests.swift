import TestSupport
import Testing
import Wire

@Suite(.safetyNet) struct WireWriterTests {
    @Test(arguments: 0..<64)
    func `numbers at the edge of a byte take the fewest bytes`(power: UInt64) throws {
        for value in [1 << power &- 1, 1 << power, 1 << power &+ 1] as [UInt64] {
            var message = PushNotificationRegistration()
            message.version = value
            let bytes = message.encoded()
            let bitCount = UInt64.bitWidth - value.leadingZeroBitCount
            #expect(bytes.count == (value == 0 ? 0 : 1 + (bitCount + 6) / 7))
            #expect(try PushNotificationRegistration.decode(bytes) == message)
        }
    }

    @Test(arguments: MessageKind.allCases)
    func `a random message is read as it was written`(kind: MessageKind) throws {
        var fields = RandomFields(generator: SplitMix64(seed: 1))
        for _ in 0..<200 {
            try expectRoundTrip(kind.type.init(fields: &fields))
        }
    }

    private func expectRoundTrip<Message: WireMessage>(_ message: Message) throws {
        let bytes = message.encoded()
        #expect(bytes.count == message.encodedByteCount)
        #expect(try Message.decode(bytes) == message)
    }

    @Test(arguments: MessageKind.allCases)
    func `an empty message has no bytes`(kind: MessageKind) {
        #expect(kind.type.init().encoded().isEmpty)
    }
}
