import JSON
import WakuREST

/// `/faults`: the same strings for tests in another process. Not a part of a node's API; there only if the relay was told so.
///
/// `GET /faults` says what is set; `POST /faults` with a JSON object sets it, what is not in the object being off; `POST /faults/restart`,
/// `/faults/lose-subscriptions` and `/faults/forget-store` do what their names say.
enum FaultsRequest {
    static let path = "/faults"

    static func handle(_ request: RelayRequest, _ control: RelayControl) -> RelayResponse {
        switch (request.method, request.target) {
        case ("GET", path): return .json(control.faults.json)
        case ("POST", path):
            do throws(JSONError) {
                control.faults = try JSONReader.read(request.body) { reader throws(JSONError) in try RelayFaults(reading: &reader) }
            } catch {
                return .error(400, "line \(error.line), column \(error.column): \(error.reason)")
            }
        case ("POST", path + "/restart"): control.restart()
        case ("POST", path + "/lose-subscriptions"): control.loseSubscriptions()
        case ("POST", path + "/forget-store"): control.forgetStore()
        default: return .error(404, "no such fault")
        }
        return .ok
    }
}

extension RelayFaults {
    fileprivate init(reading reader: inout JSONReader) throws(JSONError) {
        var faults = RelayFaults()
        try reader.readObject { reader, key throws(JSONError) in
            switch key {
            case "dropEvery": faults.dropEvery = try Self.readCount(&reader)
            case "evictEvery": faults.evictEvery = try Self.readCount(&reader)
            case "copies": faults.copies = try Self.readCount(&reader)
            case "isReversed": faults.isReversed = try reader.readBool()
            case "delayMilliseconds": faults.delay = .milliseconds(try Self.readCount(&reader))
            case "losesAnswers": faults.losesAnswers = try reader.readBool()
            case "isNotReady": faults.isNotReady = try reader.readBool()
            case "hasNoStore": faults.hasNoStore = try reader.readBool()
            case "publishing":
                guard let publishing = Publishing(rawValue: try reader.readString()) else { throw reader.error("no such way to publish") }
                faults.publishing = publishing
            case "isGoWaku": faults.isGoWaku = try reader.readBool()
            default: throw reader.error("no such fault")
            }
        }
        self = faults
    }

    private static func readCount(_ reader: inout JSONReader) throws(JSONError) -> Int {
        let count = try reader.readInteger()
        guard (0...1_000_000).contains(count) else { throw reader.error("a count out of range") }
        return Int(count)
    }

    fileprivate var json: String {
        let milliseconds = delay.components.seconds * 1_000 + delay.components.attoseconds / 1_000_000_000_000_000
        return "{\"dropEvery\":\(dropEvery),\"evictEvery\":\(evictEvery),\"copies\":\(copies),\"isReversed\":\(isReversed),"
            + "\"delayMilliseconds\":\(milliseconds),\"losesAnswers\":\(losesAnswers),\"isNotReady\":\(isNotReady),"
            + "\"hasNoStore\":\(hasNoStore),\"publishing\":\(JSONText.string(publishing.rawValue)),\"isGoWaku\":\(isGoWaku)}"
    }
}
