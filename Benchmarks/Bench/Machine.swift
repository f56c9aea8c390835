import Foundation

/// The machine of the measurements.
package struct Machine: Sendable {
    package var processor: String
    package var coreCount: Int
    package var memoryGigabytes: Double
    package var system: String

    package init(processor: String, coreCount: Int, memoryGigabytes: Double, system: String) {
        self.processor = processor
        self.coreCount = coreCount
        self.memoryGigabytes = memoryGigabytes
        self.system = system
    }

    /// Returns this machine, from `/proc`.
    package static func current() -> Machine {
        let information = ProcessInfo.processInfo
        return Machine(
            processor: value(of: "model name", in: "/proc/cpuinfo") ?? "unknown processor",
            coreCount: information.activeProcessorCount,
            memoryGigabytes: Double(information.physicalMemory) / 1e9,
            system: information.operatingSystemVersionString)
    }

    package var summary: String {
        "\(processor), \(coreCount) cores, \(Report.text(memoryGigabytes)) GB, \(system)"
    }

    /// Returns the resident memory of a process in megabytes (10^6 bytes), or nil if it has exited.
    static func residentMegabytes(of process: Int32 = getpid()) -> Double? {
        value(of: "VmRSS", in: "/proc/\(process)/status").flatMap { $0.split(separator: " ").first }.flatMap { Double($0) }
            .map { $0 * 1024 / 1e6 }
    }

    /// Returns the first `name : value` of a file of `/proc`.
    private static func value(of name: String, in path: String) -> String? {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
        for line in text.split(separator: "\n") where line.hasPrefix(name) {
            return line.split(separator: ":", maxSplits: 1).last.map { $0.trimmingCharacters(in: .whitespaces) }
        }
        return nil
    }
}
