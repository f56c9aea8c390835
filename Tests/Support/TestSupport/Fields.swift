// pushbench and stubgorush use this module too. Releases contain them without the shared libraries, and Testing is one of these.
#if canImport(Testing)
    import Bytes
    package import Testing

    /// Checks the values of a round trip: a field that is lost or mixed up must show.
    ///
    /// Each field has something else than nothing in the first value, and differs there from all others of its type. Each flag is set in
    /// one value and not in another, and no two flags are equal in all of them.
    package func expectAllFields(of values: [some Any], sourceLocation: SourceLocation = #_sourceLocation) {
        var texts: [String: [String: String]] = [:]
        var flags: [String: [String: String]] = [:]
        for (number, value) in values.enumerated() {
            for field in Field.all(in: value, at: "\(type(of: value))") {
                if let flag = field.value as? Bool {
                    flags[field.path, default: [:]]["\(number)"] = "\(flag)"
                } else if number == 0 {
                    let text = (field.value as? any SecretText)?.text ?? "\(field.value)"
                    #expect(!Field.empty.contains(text), "\(field.path) is empty", sourceLocation: sourceLocation)
                    texts["\(type(of: field.value))", default: [:]][field.path] = text
                }
            }
        }
        for (_, fields) in texts { Field.expectDifferent(fields, sourceLocation) }
        for (path, flag) in flags {
            #expect(Set(flag.values) == ["true", "false"], "\(path) is always the same", sourceLocation: sourceLocation)
        }
        Field.expectDifferent(flags.mapValues { flag in flag.sorted { $0.key < $1.key }.map { "\($0) \($1)" }.joined() }, sourceLocation)
    }

    private struct Field {
        let path: String
        let value: Any

        static let empty: Set<String> = ["", "0", "[]", "[:]", "nil"]

        /// The fields of a value, down to those without fields of their own. A value with one field is itself a field.
        static func all(in value: Any, at path: String) -> [Field] {
            let mirror = Mirror(reflecting: value)
            switch mirror.displayStyle {
            case .optional:
                return mirror.children.first.map { all(in: $0.value, at: path) } ?? [Field(path: path, value: "nil")]
            case .struct where mirror.children.count > 1, .tuple:
                return mirror.children.flatMap { all(in: $0.value, at: "\(path).\($0.label ?? "")") }
            default: return [Field(path: path, value: value)]
            }
        }

        static func expectDifferent(_ fields: [String: String], _ sourceLocation: SourceLocation) {
            for (text, equal) in Dictionary(grouping: fields, by: \.value) {
                #expect(equal.count == 1, "\(equal.map(\.key).sorted()) are all \(text)", sourceLocation: sourceLocation)
            }
        }
    }
#endif
