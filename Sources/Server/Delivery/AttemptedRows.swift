import Store

/// The rows that must not be attempted: they are in flight, or their outcomes are not recorded.
struct AttemptedRows: Sendable {
    private var devices: [Int64: DeviceCode] = [:]
    private var rows: [DeviceCode: [Int64]] = [:]

    mutating func insert(_ row: Int64, of device: DeviceCode) {
        guard devices.updateValue(device, forKey: row) == nil else { return }
        rows[device, default: []].append(row)
    }

    /// - Returns: The device of the row, or nil if the row was not attempted.
    @discardableResult
    mutating func remove(_ row: Int64) -> DeviceCode? {
        guard let device = devices.removeValue(forKey: row) else { return nil }
        let others = (rows[device] ?? []).filter { $0 != row }
        rows[device] = others.isEmpty ? nil : others
        return device
    }

    func contains(_ row: Int64) -> Bool { devices[row] != nil }

    /// The device of a row, or nil if the row was not attempted.
    func device(of row: Int64) -> DeviceCode? { devices[row] }

    /// The rows with which the device was chosen.
    func of(_ device: DeviceCode) -> [Int64] { rows[device] ?? [] }
}
