import Bytes
package import Delivery
import JSON
package import Logging
package import Store

/// The outbox for softphones' pushes.
package protocol SoftphoneOutbox: Sendable {
    /// Delivers each push in a single attempt. When the wait ends, pushes without an outcome are withdrawn.
    ///
    /// - Returns: The outcomes, ordered like the notifications.
    func deliver(_ notifications: [AcceptedNotification]) async throws -> [FirstAttempt]
}

/// Cloud Softphone's push over HTTP, PNM (GATEWAY_PROTOCOLS.md §5).
package final class SoftphoneGateway: Gateway {
    private static let maximumBodyByteCount = 1 << 20
    private static let maximumPushCount = 1_000

    private let apps: [String: SoftphoneApp]
    private let outbox: any SoftphoneOutbox
    private let failures: FailureLog

    /// - Parameters:
    ///   - apps: The apps by their `AppId`.
    ///   - clock: The clock for the failure log.
    package init(apps: [String: SoftphoneApp], outbox: any SoftphoneOutbox, clock: some Clock<Duration>, logger: Logger) {
        self.apps = apps
        self.outbox = outbox
        failures = FailureLog(logger, clock: clock)
    }

    package func answer(_ request: GatewayRequest) async -> GatewayResponse? {
        let takesMany = request.path == "/pnm2/multisend"
        guard takesMany || request.path == "/pnm2/send" else { return nil }
        guard request.method == "POST", request.contentType == "application/json" else { return .badRequest }
        let body: [UInt8]
        do {
            body = try await request.body(upTo: Self.maximumBodyByteCount)
        } catch {
            return GatewayResponse(error)
        }
        guard let elements = Self.read(body, takesMany: takesMany) else { return .badRequest }
        guard elements.count <= Self.maximumPushCount else { return .tooLarge }
        let answers = await send(elements)
        let texts = answers.map { $0.json(isOneOfMany: takesMany) }
        return .json(200, takesMany ? "[\(texts.joined(separator: ","))]" : texts.first ?? "")
    }

    /// Returns a request's elements in their order, with nil for those that are no objects, or nil if the body cannot be read.
    private static func read(_ body: [UInt8], takesMany: Bool) -> [JSONFields?]? {
        try? JSONReader.read(body) { reader throws(JSONError) -> [JSONFields?]? in
            switch reader.next {
            case .object:
                return [try JSONFields(reading: &reader)]
            case .array where takesMany:
                var elements: [JSONFields?] = []
                try reader.readArray { reader throws(JSONError) in
                    if reader.next == .object {
                        elements.append(try JSONFields(reading: &reader))
                    } else {
                        try reader.skipValue()
                        elements.append(nil)
                    }
                }
                return elements
            default:
                try reader.skipValue()
                return nil
            }
        }
    }

    private func send(_ elements: [JSONFields?]) async -> [SoftphoneAnswer] {
        var answers: [SoftphoneAnswer?] = []
        var notifications: [AcceptedNotification] = []
        var random = SecureRandom()
        for element in elements {
            guard let element else {
                answers.append(.refused("Bad object you sent here"))
                continue
            }
            do throws(SoftphonePush.Fault) {
                // Two equal requests are two pushes.
                let push = try SoftphonePush(element, apps: apps)
                var notification = push.notification
                notification.isTriedOnce = true
                notifications.append(AcceptedNotification(notification, digest: random.fixedBytes()))
                answers.append(nil)
            } catch {
                answers.append(.refused(error.response))
            }
        }
        var attempts = await deliver(notifications)[...]
        // The optimizer of Swift 6.3 crashes on the same in a closure.
        var complete: [SoftphoneAnswer] = []
        for answer in answers {
            if let answer {
                complete.append(answer)
            } else {
                complete.append(.attempted(attempts.popFirst() ?? .failed))
            }
        }
        return complete
    }

    private func deliver(_ notifications: [AcceptedNotification]) async -> [FirstAttempt] {
        guard !notifications.isEmpty else { return [] }
        do {
            return try await outbox.deliver(notifications)
        } catch is CancellationError {
            // The client has disconnected or the server stops, so the response is not read.
            return []
        } catch StoreError.queueFull {
            failures.report("rejected softphones' pushes because the push queue is full")
            return []
        } catch {
            failures.report("requests of the softphone gateway cannot be stored", error)
            return []
        }
    }
}

/// The response to a push (GATEWAY_PROTOCOLS.md §5.1).
enum SoftphoneAnswer: Sendable, Equatable {
    case attempted(FirstAttempt)
    case refused(String)

    /// Returns the response's JSON. The document names the number `status`, but its examples and clients use `code`: it has both.
    func json(isOneOfMany: Bool) -> String {
        let (code, response): (Int, String) =
            switch self {
            case .attempted(.sent): (200, "Your message was sent.")
            // Clients forget the token when they get this response.
            case .attempted(.deadToken) where isOneOfMany: (404, "Pnmediator returned an error: ERR:404 Not Found\n")
            case .attempted(.deadToken): (404, "Pnmediator returned unknown error: ERR:404 Not Found")
            case .attempted(.failed): (500, "The push was not delivered.")
            case .refused(let response): (400, response)
            }
        return #"{"code":\#(code),"status":\#(code),"response":\#(JSONText.string(response))}"#
    }
}
