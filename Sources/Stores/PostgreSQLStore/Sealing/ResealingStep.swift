import Store

/// The steps of re-sealing, in their order. The raw value is stored.
enum ResealingStep: Int64, CaseIterable, StoredInteger, SQLValue {
    case registrations = 1
    case deadRegistrations = 2
    case pushes = 3
    case replies = 4
    case proxyDevices = 5
    case originKeys = 6
    case originPushes = 7
    case done = 10

    static let first = registrations

    /// The rows that the step goes through, or nil after the last.
    var rows: ResealedRows<RowCursor>? {
        switch self {
        case .registrations: ResealedRows(.registrations([.tokens, .allowedKeys, .chatLists]), by: "id", where: "is_live")
        case .deadRegistrations: ResealedRows(.deadRegistrations, by: "id")
        case .pushes: ResealedRows(.pushes, by: "id", where: OpenPushes.inOrder)
        case .replies: ResealedRows(.replies, by: "id")
        case .proxyDevices: ResealedRows(.proxyDevices, by: "identifier")
        case .originKeys: ResealedRows(.originKeys, by: "user_name")
        case .originPushes:
            ResealedRows(
                .originPushes, by: "id",
                from: "nextcloud_origin_push JOIN nextcloud_origin_device AS device ON device.id = nextcloud_origin_push.device")
        case .done: nil
        }
    }

    /// Whether the rows are numbered. The key of others is bytes.
    var isNumbered: Bool { rows?.key == "id" }

    var next: ResealingStep { Self.allCases.first { $0.rawValue > rawValue } ?? .done }
}
