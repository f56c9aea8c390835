import Bytes
import JSON
import StatusCrypto

extension GatewayNotification {
    /// The JSON that `init(from:)` reads. The code is written by hand, because `JSONEncoder` takes nearly as long as a notification's
    /// signature.
    package var json: [UInt8] {
        var members: [String: JSON] = [
            "platform": .text(platform.rawValue), "token": .text(token.text), "kind": .text(kind.rawValue),
            "priority": .text(priority.rawValue), "isContentAvailable": .flag(isContentAvailable), "isMutable": .flag(isMutable),
            "isTriedOnce": .flag(isTriedOnce), "data": .object(data.mapValues(JSON.text)),
        ]
        if isCall { members["call"] = .flag(true) }
        members["topic"] = topic.map(JSON.text)
        members["alert"] = alert.map(\.json)
        members["sound"] = sound.map(JSON.text)
        members["badge"] = badge.map { .number(Int64($0)) }
        members["threadID"] = threadID.map(JSON.text)
        members["collapseID"] = collapseID.map(JSON.text)
        return JSON.object(members).bytes
    }
}

extension GatewayNotification.Alert {
    fileprivate var json: JSON {
        let members = [
            "title": title, "body": body, "titleLocalizationKey": titleLocalizationKey, "bodyLocalizationKey": bodyLocalizationKey,
        ]
        return .object(members.compactMapValues { $0.map(JSON.text) })
    }
}
