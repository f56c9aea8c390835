import Foundation
import PushClient
import TestSupport
import Testing

/// The texts of errors, as an app shows them.
@Suite(.safetyNet) struct ErrorTests {
    @Test(arguments: [
        PushClientError.nodeUnreachable(reason: "no network"), .nodeRejected(status: 503, text: "no peers."), .noReply(after: .seconds(10)),
        .registrationRejected(.internalError), .requestTooLong, .stateUnusable(reason: "disk full"),
    ])
    func `localizedDescription is the sentence that describes the error`(error: PushClientError) {
        #expect(error.localizedDescription == error.description && error.description.hasSuffix("."))
    }

    @Test func `localizedDescription of a wrong key is a sentence`() throws {
        let error = try #require(#expect(throws: InvalidKey.self) { try PublicKey(hex: "zz") })
        #expect(error.localizedDescription == "A public key is written in hex digits.")
    }
}
