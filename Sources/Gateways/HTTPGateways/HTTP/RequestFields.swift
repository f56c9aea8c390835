import JSON

/// A request's parameters, which clients put into the query, a form or a JSON body (GATEWAY_PROTOCOLS.md §2.1). Unknown parameters are
/// ignored.
package struct RequestFields: Sendable {
    package enum Failure: Error {
        /// The body is neither a form nor a JSON object, or doesn't match its Content-Type.
        case unreadable
        /// Query and body, or two fields in either, give the same name different values.
        case contradiction
    }

    private var values: [String: String] = [:]

    /// - Parameter names: The fields that are read. All others may hold anything.
    package init(query: String, contentType: String?, body: [UInt8], names: Set<String>) throws(Failure) {
        guard let fields = FormFields.read(Array(query.utf8)) else { throw .unreadable }
        try add(fields, names)
        guard !body.isEmpty else { return }
        switch contentType {
        case "application/json":
            guard let object = JSONFields(body) else { throw .unreadable }
            for name in names {
                switch object[name] {
                case nil, .null: break
                case .string(let text): try add([(name, text)], names)
                case .number(let text): try add([(name, text)], names)
                case .bool, .nested: throw .unreadable
                }
            }
        case nil, "", "application/x-www-form-urlencoded":
            guard let fields = FormFields.read(body) else { throw .unreadable }
            try add(fields, names)
        default:
            throw .unreadable
        }
    }

    package subscript(name: String) -> String? { values[name] }

    private mutating func add(_ fields: [(name: String, value: String)], _ names: Set<String>) throws(Failure) {
        for field in fields where names.contains(field.name) {
            guard values.updateValue(field.value, forKey: field.name).map({ $0 == field.value }) ?? true else { throw .contradiction }
        }
    }
}
