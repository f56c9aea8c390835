import Bytes
import HTTPClient
import TestSupport
import Testing

@testable import Delivery

/// Which device of a notification a failure concerns.
@Suite(.safetyNet) struct GorushFailuresTests {
    private let tokens: [DeviceToken] = (0..<500).map { DeviceToken("a token of a device with number \($0) in it") }

    private func failure(_ error: String, _ token: DeviceToken? = nil) -> GorushFailure { GorushFailure(error: error, token: token) }

    @Test func `a failure concerns the device that it names, hidden or not, and all if it names none`() {
        let hidden = DeviceToken("**********a device with number**********")
        let devices: [DeviceToken] = ["0123456789a device with number9876543210", "another"]
        let failures = GorushFailures([failure("first", "another"), failure("all", "unknown"), failure("hidden", hidden)], of: devices)
        #expect(failures.failure(of: devices[0])?.error == "hidden")
        // The last one decides.
        #expect(failures.failure(of: devices[1])?.error == "all")
        #expect(GorushFailures([failure("named", "another")], of: devices).failure(of: devices[0]) == nil)
        #expect(GorushFailures([failure("any", "unknown")], of: ["only"]).failure(of: "only")?.error == "any")
    }

    /// A search for each device would compare some 10^10 texts, for hours.
    @Test func `a response of a megabyte is read in linear time`() throws {
        for token in ["", "unknown", tokens[250].text] {
            let entry = #"{"notif_id":"n-1","token":"\#(token)","error":"x"},"#
            let logs = String(repeating: entry, count: (1 << 20) / entry.utf8.count) + #"{"notif_id":"n-1","error":"x"}"#
            let answer = GorushResponse(HTTPResponse(200, #"{"counts":500,"logs":[\#(logs)],"success":"ok"}"#), expectedCount: 500)
            guard case .accepted(let failures) = answer else {
                Issue.record("not accepted")
                return
            }
            #expect(failures.count > 10_000)
            let byDevice = GorushFailures(failures, of: tokens)
            #expect(tokens.allSatisfy { byDevice.failure(of: $0)?.error == "x" })
        }
    }

    @Test func `an error text is kept up to its limit`() throws {
        let body = #"{"counts":1,"logs":[{"error":"\#(String(repeating: "x", count: 1 << 19))"}],"success":"ok"}"#
        guard case .accepted(let failures) = GorushResponse(HTTPResponse(200, body), expectedCount: 1) else {
            Issue.record("not accepted")
            return
        }
        #expect(failures.map(\.error.utf8.count) == [GorushFailure.maximumErrorByteCount])
    }
}
