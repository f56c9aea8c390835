import PushProtocol
import Store
import Wire

extension CopiedTable {
    /// The differences between a copied table and the tables of this store.
    struct Layout {
        /// The tables that the rows are read from.
        var source: String
        /// The SQL expressions of columns that the table does not have under their names.
        var expressions: [String: String] = [:]
        /// The columns of the table that follow from others, with their SQL expressions.
        var derived: [String: String] = [:]
        /// Whether the table has row numbers, in whose order it is read.
        var hasRowNumbers = true
        /// Statements that add the values which other tables have.
        var additions: [String] = []
    }

    // In the statements, `:column` is the value of a column, `:prefix_of_column` its first 8 bytes as a number, and
    // `:hashed_prefix_of_column` those of its hash.

    var layout: Layout {
        switch name {
        case "registration":
            Layout(
                source: """
                    registration LEFT JOIN query_topic ON query_topic.registration = registration.id
                        LEFT JOIN registration_lists ON registration_lists.registration = registration.id
                    """,
                expressions: [
                    "plain_topic": "plain", "prefixed_topic": "prefixed",
                    "sealed_allowed_keys": "sealed_allowed_keys", "sealed_chat_lists": "sealed_chat_lists",
                ],
                derived: ["key_prefix": ":prefix_of_key_hash", "installation_prefix": ":hashed_prefix_of_installation_id"],
                additions: [
                    "INSERT INTO query_topic (registration, plain, prefixed) SELECT :id, :plain_topic, :prefixed_topic WHERE :is_live",
                    """
                    INSERT INTO registration_lists (registration, sealed_allowed_keys, sealed_chat_lists)
                    SELECT :id, :sealed_allowed_keys, :sealed_chat_lists
                    WHERE coalesce(:sealed_allowed_keys, :sealed_chat_lists) IS NOT NULL
                    """,
                ])
        case "topic_key": Layout(source: name, derived: ["key_prefix": ":prefix_of_key_hash"])
        case "message":
            Layout(
                source: "message LEFT JOIN unfinished_message ON unfinished_message.message = message.id",
                expressions: [
                    "is_unfinished": "unfinished_message.message IS NOT NULL",
                    // This store has only the prefix of the hash. Its digits are no installation id, so no newer response supersedes the
                    // response, which is published.
                    "installation_id": "CAST(CAST(installation_prefix AS TEXT) AS BLOB)",
                ],
                derived: ["status_prefix": ":prefix_of_status_message_id"],
                additions: [
                    """
                    INSERT INTO unfinished_message (message, recipient_prefix, installation_prefix)
                    SELECT :id, CASE WHEN :reply_type = \(Self.registrationResponse) THEN :prefix_of_recipient END,
                        CASE WHEN :reply_type = \(Self.registrationResponse) THEN :hashed_prefix_of_installation_id END
                    WHERE :is_unfinished
                    """
                ])
        case "push": Layout(source: name, derived: ["deduplication_prefix": ":prefix_of_deduplication_key"])
        case "nextcloud_device": Layout(source: name, derived: ["identifier_prefix": ":prefix_of_identifier"])
        case "nextcloud_origin_key":
            Layout(
                source: name, expressions: ["user_name": "user"], derived: ["user": "CAST(:user_name AS TEXT)"], hasRowNumbers: false)
        case "nextcloud_origin_device":
            Layout(source: name, expressions: ["user_name": "user"], derived: ["user": "CAST(:user_name AS TEXT)"])
        case "route", "route_hold", "delivered_topic", "suspect_token", "proven_token", "ledger":
            Layout(source: name, hasRowNumbers: false)
        default: Layout(source: name)
        }
    }

    private static let registrationResponse = MessageType.pushNotificationRegistrationResponse.rawValue

    /// A query of a page, in which `:limit` is the number of rows and `:position0` and `:position1` are the position of the page before.
    ///
    /// - Returns: The statement and the number of columns of the position, which come before the table's.
    func selection(isFirst: Bool) -> (sql: String, positionCount: Int) {
        let layout = layout
        func expression(_ column: Column) -> String { layout.expressions[column.name] ?? column.name }
        func read(_ column: Column) -> String { column.kind == .text ? "CAST(\(expression(column)) AS BLOB)" : expression(column) }
        let position = layout.hasRowNumbers ? ["\(name).rowid"] : key.map(expression)
        let parameters = position.indices.map { index in
            !layout.hasRowNumbers && key[index].kind == .text ? "CAST(:position\(index) AS TEXT)" : ":position\(index)"
        }
        let selected = (layout.hasRowNumbers ? position : key.map(read)) + columns.map(read)
        let condition = isFirst ? "" : "WHERE (\(position.joined(separator: ", "))) > (\(parameters.joined(separator: ", ")))"
        let sql = """
            SELECT \(selected.joined(separator: ", ")) FROM \(layout.source) \(condition)
            ORDER BY \(position.joined(separator: ", ")) LIMIT :limit
            """
        return (sql, position.count)
    }

    /// The statements that add a row.
    var insertions: [String] {
        let layout = layout
        let own = columns.filter { layout.expressions[$0.name] == nil }
        let values = own.map { $0.kind == .text ? "CAST(:\($0.name) AS TEXT)" : ":\($0.name)" }
        let derived = layout.derived.sorted { $0.key < $1.key }
        let names = own.map(\.name) + derived.map(\.key)
        let expressions = values + derived.map(\.value)
        return ["INSERT INTO \(name) (\(names.joined(separator: ", "))) VALUES (\(expressions.joined(separator: ", ")))"] + layout.additions
    }
}
