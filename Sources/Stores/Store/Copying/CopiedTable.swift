/// A value in a row that is copied into a different kind of store.
package enum CopiedValue: Hashable, Sendable {
    case null
    /// A number, or a truth value as 0 or 1.
    case integer(Int64)
    /// A blob, or a text in UTF-8, which may contain U+0000.
    case bytes([UInt8])
}

/// A table whose rows are copied into a different kind of store, with the columns that it has in PostgreSQL.
package struct CopiedTable: Sendable {
    /// A column's type.
    package enum Kind: Sendable {
        case integer
        case bool
        /// A UInt64, which a store keeps in a signed number. The copied value has its bits.
        case unsigned
        case text
        case bytes
    }

    package struct Column: Sendable {
        package let name: String
        package let kind: Kind
    }

    package let name: String
    package let columns: [Column]
    /// The columns whose values distinguish the rows.
    package let key: [Column]
    /// Whether the store numbers the rows.
    package var isNumbered: Bool { key.map(\.name) == ["id"] }

    /// - Parameters:
    ///   - columns: Names with a kind after a colon. A column without a kind holds numbers.
    ///   - key: The names of columns.
    private init(_ name: String, key: String, _ columns: String) {
        self.name = name
        let columns = columns.split(whereSeparator: \.isWhitespace).map { text in
            let parts = text.split(separator: ":")
            let kinds: [Substring: Kind] = ["bool": .bool, "unsigned": .unsigned, "text": .text, "bytes": .bytes]
            return Column(name: String(parts[0]), kind: parts.count > 1 ? kinds[parts[1], default: .integer] : .integer)
        }
        self.columns = columns
        self.key = key.split(separator: " ").compactMap { name in columns.first { $0.name == name } }
    }

    /// All tables in the order in which they are copied. Leases, jobs and rows that follow from others are not copied.
    package static let all = [
        CopiedTable("sealing_key", key: "key_id", "key_id secret:bytes"),
        CopiedTable(
            "registration", key: "id",
            """
            id key_hash:bytes installation_id:text is_live:bool was_registered:bool version:unsigned updated_at plaintext_digest:bytes
            token_type enabled:bool allow_from_contacts_only:bool block_mentions:bool apn_topic:text grant_signature:bytes secrets:bytes
            token_code:bytes sealed_allowed_keys:bytes sealed_chat_lists:bytes blocked_chats:bytes muted_chats:bytes
            allowed_mentions_chats:bytes plain_topic prefixed_topic delivered_at first_delivered_at
            """),
        CopiedTable("topic_key", key: "key_hash is_prefixed", "key_hash:bytes is_prefixed:bool topic_key:bytes"),
        CopiedTable(
            "message", key: "id",
            """
            id sent_at state is_unfinished:bool received_at decided_at hash:bytes ignore_reason reply_type status_message_id:bytes
            recipient:bytes installation_id:bytes pubsub_topic:text sealed_reply:bytes envelope:bytes
            """),
        CopiedTable("checkpoint", key: "pubsub_topic", "pubsub_topic:text received_until"),
        CopiedTable("hole", key: "pubsub_topic started_at", "pubsub_topic:text started_at ended_at found_at"),
        CopiedTable(
            "push", key: "id",
            """
            id message state route:text trust accepted_at next_attempt_at attempted_at reason:text finished_at attempts
            deduplication_key:bytes key_hash:bytes installation_id:text token_type type apn_topic:text secrets:bytes
            registration refused_at counted_refusals shortening words:text device:bytes unanswered brought_forward broken
            has_worked:bool
            """),
        CopiedTable("route", key: "token_type apn_topic", "token_type apn_topic:text name:text"),
        CopiedTable("route_hold", key: "route", "route:text started_at ends_at"),
        CopiedTable("delivered_topic", key: "route apn_topic", "route:text apn_topic:text"),
        CopiedTable(
            "suspect_token", key: "token_digest",
            """
            token_digest:bytes suspected_at tried_at route:text refusals counted_refusals first_counted_at is_proven:bool
            """),
        CopiedTable("proven_token", key: "token_digest", "token_digest:bytes delivered_at first_delivered_at"),
        CopiedTable(
            "dead_registration", key: "id",
            """
            id died_at reason:text route:text plain_topic prefixed_topic key_hash:bytes plaintext_digest:bytes secrets:bytes
            """),
        CopiedTable("delivering_day", key: "day", "day unused_budget"),
        CopiedTable("ledger", key: "milestone", "milestone:text count pruned"),
        CopiedTable(
            "nextcloud_device", key: "identifier",
            """
            identifier:bytes push_token_hash:bytes platform:text secrets:bytes token_code:bytes topic:text voip_secrets:bytes
            voip_token_code:bytes voip_topic:text created_at updated_at used_at removed_at is_dead:bool
            """),
        CopiedTable("nextcloud_origin_key", key: "user_name", "user_name:text secrets:bytes"),
        CopiedTable(
            "nextcloud_origin_device", key: "id",
            """
            id user_name:text token_id identifier:text public_key:bytes push_token_hash:text proxy:text app_type:text last_seen created_at
            """),
        CopiedTable(
            "nextcloud_origin_push", key: "id",
            "id device proxy:text secrets:bytes priority:text kind:text expires_at"),
    ]
}
