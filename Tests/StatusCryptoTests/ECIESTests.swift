import Bytes
import StatusCrypto
import TestSupport
import Testing

/// The properties of ECIES. `RFC26Tests` compares the reference's bytes, which are in golden vectors 07 with the frames around them.
@Suite(.safetyNet) struct ECIESTests {
    let recipient: PrivateKey
    let sealed: [UInt8]

    init() {
        var random = SecureRandom()
        recipient = PrivateKey.generate(using: &random)
        sealed = ECIES.seal([1, 2, 3].span, to: recipient.publicKey, using: &random)
    }

    @Test func `a sealed message opens only for its recipient`() throws {
        var random = SecureRandom()
        #expect(sealed.count == 65 + 16 + 3 + 32)
        #expect(try ECIES.open(sealed.span, with: recipient) == [1, 2, 3])
        let other = PrivateKey.generate(using: &random)
        #expect(throws: AuthenticationFailure.self) { try ECIES.open(sealed.span, with: other) }
    }

    @Test func `a truncated or changed message does not open`() {
        for count in 0..<sealed.count {
            #expect(throws: AuthenticationFailure.self) { try ECIES.open(sealed.span.extracting(first: count), with: recipient) }
        }
        for index in sealed.indices {
            var damaged = sealed
            damaged[index] ^= 1
            #expect(throws: AuthenticationFailure.self) { try ECIES.open(damaged.span, with: recipient) }
        }
    }
}
