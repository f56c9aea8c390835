import Delivery
import JSON

/// A section's settings about notifications: `gorush.ios`, `gorush.types.message.ios` and the like. What is not set is absent.
struct NotificationFields {
    /// The values of gorush's fields, and of `data`, by path.
    private var values: [[String]: JSON] = [:]
    private var threadsByChat: Bool?
    private var isDataOnly: Bool?
    private var timeToLive: Duration?

    init() {}

    /// Reads a section.
    ///
    /// - Parameter inherited: The settings that the section overrides, whose values are its defaults, or nil for a section without
    ///   defaults.
    init(_ platform: GorushPlatform, below section: String, overriding inherited: NotificationFields?, _ reader: inout SettingsReader) {
        for field in GorushField.all(of: platform) {
            let key = "\(section).\(field.path.joined(separator: "."))"
            if let value = reader.json(key, field.kind) { values[field.path] = value }
        }
        if platform == .android {
            timeToLive = reader.optional("\(section).android.ttl", .duration(from: .seconds(1), to: .seconds(86_400)))
        }
        for name in reader.names(below: "\(section).data") {
            let key = "\(section).data.\(name)"
            let text = reader.value(key, .text, default: "")
            guard NotificationTemplate.mayHoldData(named: name) else {
                reader.report(key, "the name belongs to Apple, Google or this server")
                continue
            }
            values[["data", name]] = .text(text)
        }
        switch platform {
        case .ios: threadsByChat = Self.flag("\(section).threadByChat", inherited, \.threadsByChat, &reader)
        case .android: isDataOnly = Self.flag("\(section).dataOnly", inherited, \.isDataOnly, &reader)
        }
    }

    private static func flag(
        _ key: String, _ inherited: NotificationFields?, _ value: KeyPath<NotificationFields, Bool?>, _ reader: inout SettingsReader
    ) -> Bool? {
        guard let inherited else { return reader.optional(key, .bool) }
        return reader.value(key, .bool, default: inherited[keyPath: value] ?? false)
    }

    /// Returns these settings, overridden by a more specific section's settings.
    func overridden(by other: NotificationFields?) -> NotificationFields {
        guard let other else { return self }
        var merged = self
        merged.values.merge(other.values) { $1 }
        merged.threadsByChat = other.threadsByChat ?? threadsByChat
        merged.isDataOnly = other.isDataOnly ?? isDataOnly
        merged.timeToLive = other.timeToLive ?? timeToLive
        return merged
    }

    func template(for platform: GorushPlatform, text: PushText) -> NotificationTemplate {
        var template = NotificationTemplate()
        template.text = text
        for (path, value) in values { template.fields.set(value, at: path[...]) }
        template.threadsByChat = threadsByChat ?? false
        template.timeToLive = timeToLive
        template.isSilent = isSilent(on: platform)
        return template
    }

    private func isSilent(on platform: GorushPlatform) -> Bool {
        switch platform {
        case .ios: values[["push_type"]] == "background"
        case .android: isDataOnly ?? false
        }
    }

    /// A setting that cannot be used together with other settings.
    struct Problem: Hashable {
        var key: String
        var text: String
    }

    /// Returns the fields that cannot be used together.
    ///
    /// - Parameter section: Returns the section whose settings fulfil a condition. More specific sections come first.
    func problems(on platform: GorushPlatform, in section: ((NotificationFields) -> Bool) -> String) -> [Problem] {
        func place(_ path: [String], _ text: String) -> Problem {
            Problem(key: "\(section { $0.values[path] != nil }).\(path.joined(separator: "."))", text: text)
        }
        var problems: [Problem] = []
        if threadsByChat == true, values[["thread-id"]] != nil {
            problems.append(place(["thread-id"], "not together with threadByChat"))
        }
        guard isSilent(on: platform) else { return problems }
        let reason =
            switch platform {
            case .ios: "a push with push_type background shows nothing"
            case .android: "a push with dataOnly shows nothing"
            }
        problems += GorushField.all(of: platform).filter { $0.isVisible && values[$0.path] != nil }.map { place($0.path, reason) }
        guard platform == .ios else { return problems }
        if threadsByChat == true { problems.append(Problem(key: "\(section { $0.threadsByChat == true }).threadByChat", text: reason)) }
        let origin = section { $0.values[["push_type"]] != nil }
        if values[["content_available"]] != .flag(true) {
            problems.append(
                Problem(
                    key: "\(origin).content_available",
                    text: "must be true with push_type background; otherwise Apple does not wake the app"))
        }
        if values[["priority"]] != "normal" {
            problems.append(
                Problem(
                    key: "\(origin).priority", text: "must be normal with push_type background; otherwise Apple rejects the push"))
        }
        return problems
    }
}

extension GorushPlatform {
    /// The name in settings.
    var name: String {
        switch self {
        case .ios: "ios"
        case .android: "android"
        }
    }
}

extension SettingsReader {
    fileprivate mutating func json(_ key: String, _ kind: GorushField.Kind) -> JSON? {
        switch kind {
        case .text: optional(key, .text).map { .text($0) }
        case .flag: optional(key, SettingType.bool.unquoted).map { .flag($0) }
        case .count: optional(key, SettingType.integer(0...Int(Int32.max)).unquoted).map { .number(Int64($0)) }
        case .choice(let words): optional(key, .oneOf(words)).map { .text($0) }
        case .color: optional(key, .color).map { .text($0) }
        }
    }
}

extension SettingType {
    /// The same type without quotes in the file: a quoted value is a text, which gorush rejects in such a field, and an operator may copy
    /// the line to gorush.
    fileprivate var unquoted: SettingType {
        var type = self
        type.allowsQuotes = false
        return type
    }
}

extension SettingType<String> {
    fileprivate static var color: SettingType {
        SettingType("a color like #5b45f0") { $0.wholeMatch(of: /#[0-9a-fA-F]{6}/) != nil ? $0 : nil }
    }
}
