import Delivery
import JSON

/// The settings `gorush.texts`, `gorush.locKeys`, `gorush.ios` and `gorush.android`, which each route can have too: the fields that the
/// server merges into each notification.
struct NotificationSettings {
    private static var texts: KeyValuePairs<String, WritableKeyPath<PushTexts, PushText>> {
        ["message": \.message, "mention": \.mention, "requestToJoinCommunity": \.requestToJoinCommunity]
    }

    private var literals = PushTexts()
    private var localizationKeys: [String: String] = [:]
    private(set) var ios = NotificationTemplate()
    private(set) var android = NotificationTemplate()

    /// - Parameters:
    ///   - section: The section `gorush` or that of a route. Settings that it leaves out keep their values.
    ///   - platforms: The platforms of its pushes.
    mutating func read(below section: String, for platforms: [GorushPlatform], _ reader: inout SettingsReader) {
        for (name, text) in Self.texts {
            guard case .literal(let literal) = literals[keyPath: text] else { continue }
            literals[keyPath: text] = .literal(reader.value("\(section).texts.\(name)", .text, default: literal))
        }
        var texts = literals
        for (name, text) in Self.texts {
            localizationKeys[name] = reader.optional("\(section).locKeys.\(name)", .text) ?? localizationKeys[name]
            if let key = localizationKeys[name] { texts[keyPath: text] = .localizationKey(key) }
        }
        ios.texts = texts
        android.texts = texts
        if platforms.contains(.ios) { readIOS("\(section).ios", &reader) }
        if platforms.contains(.android) { readAndroid("\(section).android", &reader) }
    }

    func template(for platform: GorushPlatform) -> NotificationTemplate {
        switch platform {
        case .ios: ios
        case .android: android
        }
    }

    private mutating func readIOS(_ section: String, _ reader: inout SettingsReader) {
        Self.readFields(of: .ios, into: &ios, below: section, &reader)
        Self.readData(into: &ios, below: section, &reader)
        reader.update(&ios.threadsByChat, "\(section).threadByChat", .bool)
        if ios.threadsByChat, ios.fields["thread-id"] != nil {
            reader.report("\(section).thread-id: not together with threadByChat")
        }
        ios.isSilent = ios.fields["push_type"] == "background"
        guard ios.isSilent else { return }
        Self.refuseVisible(.ios, in: ios, below: section, "a push with push_type background shows nothing", &reader)
        if ios.threadsByChat { reader.report("\(section).threadByChat: a push with push_type background shows nothing") }
        if ios.fields["content_available"] != .flag(true) {
            reader.report("\(section).content_available: true is needed with push_type background, or Apple wakes nobody")
        }
        if ios.fields["priority"] != "normal" {
            reader.report("\(section).priority: normal is needed with push_type background, or Apple rejects the push")
        }
    }

    private mutating func readAndroid(_ section: String, _ reader: inout SettingsReader) {
        Self.readFields(of: .android, into: &android, below: section, &reader)
        android.timeToLive =
            reader.optional("\(section).android.ttl", .duration(from: .seconds(1), to: .seconds(86_400))) ?? android.timeToLive
        Self.readData(into: &android, below: section, &reader)
        reader.update(&android.isSilent, "\(section).dataOnly", .bool)
        if android.isSilent {
            Self.refuseVisible(.android, in: android, below: section, "a push with dataOnly shows nothing", &reader)
        }
    }

    private static func readFields(
        of platform: GorushPlatform, into template: inout NotificationTemplate, below section: String, _ reader: inout SettingsReader
    ) {
        for field in GorushField.all(of: platform) {
            let key = "\(section).\(field.path.joined(separator: "."))"
            if let value = reader.json(key, field.kind) { template.fields.set(value, at: field.path[...]) }
        }
    }

    private static func readData(into template: inout NotificationTemplate, below section: String, _ reader: inout SettingsReader) {
        for name in reader.names(below: "\(section).data") {
            let key = "\(section).data.\(name)"
            let text = reader.value(key, .text, default: "")
            guard NotificationTemplate.mayHoldData(named: name) else {
                reader.report("\(key): the name belongs to Apple, Google or this server")
                continue
            }
            template.addData(text, named: name)
        }
    }

    private static func refuseVisible(
        _ platform: GorushPlatform, in template: NotificationTemplate, below section: String, _ reason: String,
        _ reader: inout SettingsReader
    ) {
        for field in GorushField.all(of: platform) where field.isVisible && template.fields[field.path[...]] != nil {
            reader.report("\(section).\(field.path.joined(separator: ".")): \(reason)")
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
