import Bytes
import Store

/// A requested push (GATEWAY_PROTOCOLS.md §5, 5.2).
struct SoftphonePush: Sendable {
    enum Verb: String, Sendable {
        /// A message that the app fetches.
        case textMessage = "NotifyTextMessage"
        /// A text to show.
        case genericTextMessage = "NotifyGenericTextMessage"
        /// An order to the app to reload its settings.
        case reprovision = "NotifyReprovision"
    }

    /// The reason for code 400, in words for the request's author.
    struct Fault: Error, Equatable {
        var response: String

        static func missing(_ name: String) -> Fault { Fault(response: "Missing required attribute: \(name)") }
        static func invalid(_ name: String) -> Fault { Fault(response: "Invalid attribute: \(name)") }
    }

    let verb: Verb
    /// The notification for the phone.
    let notification: GatewayNotification

    /// The attributes that the app's code gets in addition to verb and selector.
    private static let passedOn = ["UserName", "UserDisplayName", "Message", "ContentType", "Id", "ThreadId"]
    /// How many characters of an untrusted text a response may repeat.
    private static let maximumEchoCount = 100

    init(_ fields: JSONFields, apps: [String: SoftphoneApp]) throws(Fault) {
        let verbName = try Self.required("verb", fields)
        let appID = try Self.required("AppId", fields)
        let deviceToken = try Self.required("DeviceToken", fields)
        guard let verb = Verb(rawValue: verbName) else { throw Fault(response: "Unknown verb: \(verbName.prefix(Self.maximumEchoCount))") }
        self.verb = verb
        guard let app = apps[appID] else { throw Fault(response: "Unknown AppId: \(appID.prefix(Self.maximumEchoCount))") }
        guard let token = DeviceToken.decode(deviceToken, for: app.platform) else { throw .invalid("DeviceToken") }
        guard !app.isPushKit || verb == .reprovision else {
            throw Fault(response: "\(verbName) cannot be sent to a PushKit AppId")
        }

        var data = ["verb": verbName]
        if verb == .genericTextMessage {
            if let selector = try Self.optional("Selector", fields) { data["Selector"] = selector }
            let message = try Self.required("Message", fields)
            notification = try Self.fitted(message) { message throws(Fault) in
                var notification = GatewayNotification(
                    platform: app.platform, token: token, topic: app.topic, kind: .alert, priority: .high, alert: .init(body: message),
                    data: data)
                if app.platform == .ios { notification.sound = try Self.sound(fields) }
                return notification
            }
            return
        }
        data["Selector"] = try Self.required("Selector", fields)
        if verb == .reprovision {
            notification = try Self.fitted("") { _ in Self.order(data, to: token, of: app) }
            return
        }
        for name in Self.passedOn { data[name] = try Self.optional(name, fields) }
        let isSilent = data["ContentType"].map { app.silentContentTypes.contains($0) } ?? false
        notification = try Self.fitted(data["Message"] ?? "") { message throws(Fault) in
            var data = data
            if data["Message"] != nil { data["Message"] = message }
            if isSilent || app.platform == .android {
                var notification = Self.order(data, to: token, of: app)
                if app.platform == .ios { _ = try Self.badge(fields) }
                notification.badge = nil
                return notification
            }
            let sender = data["UserDisplayName"] ?? data["UserName"] ?? ""
            var notification = GatewayNotification(
                platform: .ios, token: token, topic: app.topic, kind: .alert, priority: .high,
                alert: .init(title: sender.isEmpty ? nil : sender, body: Self.body(message, sender: sender)), sound: try Self.sound(fields),
                data: data)
            notification.isContentAvailable = true
            notification.badge = try Self.badge(fields)
            notification.threadID = data["ThreadId"].flatMap { $0.isEmpty ? nil : $0 }
            return notification
        }
    }

    /// Returns a notification that reaches the app's code and shows nothing.
    private static func order(_ data: [String: String], to token: DeviceToken, of app: SoftphoneApp) -> GatewayNotification {
        switch app.platform {
        case .android:
            return GatewayNotification(platform: .android, token: token, kind: .background, priority: .high, data: data)
        case .ios where app.isPushKit:
            return GatewayNotification(platform: .ios, token: token, topic: app.topic, kind: .voip, priority: .high, data: data)
        case .ios:
            var notification = GatewayNotification(
                platform: .ios, token: token, topic: app.topic, kind: .background, priority: .normal, data: data)
            notification.isContentAvailable = true
            return notification
        }
    }

    private static func body(_ message: String, sender: String) -> String? {
        if !message.isEmpty { return message }
        return sender.isEmpty ? "New message" : nil
    }

    // MARK: Attributes

    private static func required(_ name: String, _ fields: JSONFields) throws(Fault) -> String {
        guard let text = try optional(name, fields), !text.isEmpty else { throw .missing(name) }
        return text
    }

    /// Returns an attribute's text. An `Id` may be a number.
    private static func optional(_ name: String, _ fields: JSONFields) throws(Fault) -> String? {
        switch fields[name] {
        case nil, .null: return nil
        case .string(let text): return text
        case .number(let text) where name == "Id": return text
        case .number, .bool, .nested: throw .invalid(name)
        }
    }

    private static func sound(_ fields: JSONFields) throws(Fault) -> String? {
        try optional("Sound", fields).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns the badge, which may be a number or its text. 0 removes the badge.
    private static func badge(_ fields: JSONFields) throws(Fault) -> Int? {
        switch fields["Badge"] {
        case nil, .null: return nil
        case .number(let text), .string(let text):
            if text.isEmpty { return nil }
            guard let badge = Int32(text), badge >= 0 else { throw .invalid("Badge") }
            return Int(badge)
        case .bool, .nested: throw .invalid("Badge")
        }
    }

    // MARK: Size

    /// Returns the notification with as much of the message as Apple and Google accept.
    private static func fitted(
        _ message: String, _ make: (String) throws(Fault) -> GatewayNotification
    ) throws(Fault) -> GatewayNotification {
        let whole = try make(message)
        guard PayloadSize.byteCount(whole) > PayloadSize.maximumByteCount else { return whole }
        // A binary search for the longest beginning that fits, in grapheme clusters.
        let characters = Array(message)
        var (fits, tooMany) = (-1, characters.count)
        while tooMany - fits > 1 {
            let middle = (fits + tooMany) / 2
            let shortened = try make(String(characters[..<middle]) + "…")
            if PayloadSize.byteCount(shortened) <= PayloadSize.maximumByteCount { fits = middle } else { tooMany = middle }
        }
        guard fits >= 0 else { throw Fault(response: "The push is larger than 4096 bytes without its message") }
        return try make(String(characters[..<fits]) + "…")
    }
}

/// An upper bound for the payload that reaches Apple or Google.
enum PayloadSize {
    /// Both refuse a larger payload.
    static let maximumByteCount = 4_096
    /// `aps`, its names and brackets.
    private static let wrapperByteCount = 160

    static func byteCount(_ notification: GatewayNotification) -> Int {
        let shown = [notification.alert?.title, notification.alert?.body, notification.sound, notification.threadID].compactMap(\.self)
        return wrapperByteCount + shown.reduce(0) { $0 + byteCount($1) }
            + notification.data.reduce(0) { $0 + byteCount($1.key) + byteCount($1.value) + 2 }
    }

    /// How long a JSON string is as Go writes it: `<`, `>`, `&` and control characters take six bytes.
    private static func byteCount(_ text: String) -> Int {
        text.unicodeScalars.reduce(2) { count, scalar in
            switch scalar {
            case "\"", "\\", "\n", "\r", "\t": count + 2
            case "<", ">", "&", "\0"..<" ", "\u{2028}", "\u{2029}": count + 6
            default: count + UTF8.width(scalar)
            }
        }
    }
}
