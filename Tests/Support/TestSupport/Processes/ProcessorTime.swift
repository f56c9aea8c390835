import Foundation

/// The processor time of a process and of those that it has started, as Linux counts it.
enum ProcessorTime {
    /// Returns the time in clock ticks. It falls when one of the processes ends that nobody waits for.
    static func ticks(of process: Int32) -> Int {
        var children: [Int32: [Int32]] = [:]
        var ticks: [Int32: Int] = [:]
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
            // The fields after the name in parentheses (proc(5)): state, parent, and from the 12th on the times in user and kernel mode,
            // its own and those of children that have ended.
            guard let identifier = Int32(name), let status = try? String(contentsOfFile: "/proc/\(name)/stat", encoding: .utf8),
                let end = status.lastIndex(of: ")")
            else { continue }
            let fields = status[status.index(after: end)...].split(separator: " ")
            guard fields.count > 14, let parent = Int32(fields[1]) else { continue }
            children[parent, default: []].append(identifier)
            ticks[identifier] = fields[11...14].compactMap { Int($0) }.reduce(0, +)
        }
        var (sum, open) = (0, [process])
        while let next = open.popLast() {
            sum += ticks[next] ?? 0
            open += children[next] ?? []
        }
        return sum
    }
}
