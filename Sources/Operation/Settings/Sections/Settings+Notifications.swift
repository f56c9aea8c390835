import Delivery
import PushProtocol

/// The settings `gorush.types`, `gorush.ios` and `gorush.android`, which each route can have too: what is merged into each notification.
///
/// A type's field wins over the same field for all types, and a route's field over the field for all routes.
struct NotificationSettings {
    private var texts = Dictionary(uniqueKeysWithValues: PushKind.allCases.map { ($0, $0.defaultText) })
    private var localizationKeys: [PushKind: String] = [:]
    private var fields: [GorushPlatform: NotificationFields] = [:]
    private var fieldsByKind: [GorushPlatform: [PushKind: NotificationFields]] = [:]

    /// - Parameters:
    ///   - section: The section `gorush` or a route's. Settings that it leaves out keep their values.
    ///   - platforms: The platforms that its pushes go to.
    mutating func read(below section: String, for platforms: [GorushPlatform], _ reader: inout SettingsReader) {
        for kind in PushKind.allCases { read(kind, below: "\(section).types.\(kind.rawValue)", for: platforms, &reader) }
        for platform in platforms {
            let inherited = fields[platform] ?? NotificationFields()
            let own = NotificationFields(platform, below: "\(section).\(platform.name)", overriding: inherited, &reader)
            fields[platform] = inherited.overridden(by: own)
            check(platform, below: section, &reader)
        }
    }

    func templates(for platform: GorushPlatform) -> NotificationTemplates {
        NotificationTemplates { kind in
            let text = localizationKeys[kind].map { PushText.localizationKey($0) } ?? .literal(texts[kind] ?? kind.defaultText)
            return merged(platform, kind).template(for: platform, text: text)
        }
    }

    private func merged(_ platform: GorushPlatform, _ kind: PushKind?) -> NotificationFields {
        (fields[platform] ?? NotificationFields()).overridden(by: kind.flatMap { fieldsByKind[platform]?[$0] })
    }

    private mutating func read(_ kind: PushKind, below section: String, for platforms: [GorushPlatform], _ reader: inout SettingsReader) {
        texts[kind] = reader.value("\(section).text", .text, default: texts[kind] ?? kind.defaultText)
        localizationKeys[kind] = reader.optional("\(section).locKey", .text) ?? localizationKeys[kind]
        for platform in platforms where reader.has(section: "\(section).\(platform.name)") {
            let own = NotificationFields(platform, below: "\(section).\(platform.name)", overriding: nil, &reader)
            fieldsByKind[platform, default: [:]][kind] = (fieldsByKind[platform]?[kind] ?? NotificationFields()).overridden(by: own)
        }
    }

    /// Reports fields that gorush, Apple or Google cannot use together, for all types, and for types with their own fields.
    private func check(_ platform: GorushPlatform, below section: String, _ reader: inout SettingsReader) {
        // A route without such settings would repeat the problems of the settings that it inherits.
        guard reader.has(section: "\(section).\(platform.name)") || reader.has(section: "\(section).types") else { return }
        var reported: Set<NotificationFields.Problem> = []
        for kind in [nil] + PushKind.allCases.filter({ fieldsByKind[platform]?[$0] != nil }).map(Optional.some) {
            let own = kind.flatMap { fieldsByKind[platform]?[$0] }
            let problems = merged(platform, kind).problems(on: platform) { isSet in
                let type = kind.flatMap { own.map(isSet) == true ? ".types.\($0.rawValue)" : nil } ?? ""
                return "\(section)\(type).\(platform.name)"
            }
            for problem in problems where reported.insert(problem).inserted { reader.report(problem.key, problem.text) }
        }
    }
}
