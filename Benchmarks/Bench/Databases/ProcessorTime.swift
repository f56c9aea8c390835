import Foundation

/// The processor time of one process, as the kernel counts it.
package struct ProcessStatus: Equatable {
    package var parent: Int32
    /// The clock ticks of the process itself, in user and kernel mode.
    package var ownTicks: Int
    /// The clock ticks of its children that have exited.
    package var exitedChildrenTicks: Int

    /// - Parameter text: The content of `/proc/PID/stat` (proc(5)); nil results from any other text.
    package init?(_ text: String) {
        // The second field is the name in parentheses, which may contain blanks and parentheses.
        guard let end = text.lastIndex(of: ")") else { return nil }
        let fields = text[text.index(after: end)...].split(separator: " ")
        // Field 3 is the first one here: the parent is field 4, and fields 14 to 17 are the times.
        guard fields.count > 14, let parent = Int32(fields[1]) else { return nil }
        let ticks = fields[11...14].compactMap { Int($0) }
        guard ticks.count == 4 else { return nil }
        self.parent = parent
        ownTicks = ticks[0] + ticks[1]
        exitedChildrenTicks = ticks[2] + ticks[3]
    }

    /// Returns the status of a process; nil if it has exited.
    static func current(of process: Int32) -> ProcessStatus? {
        (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)).flatMap { ProcessStatus($0) }
    }

    /// Returns the processor seconds that a process and its children have used, including children that have exited.
    static func seconds(ofFamilyOf process: Int32) -> Double {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        let children = names.compactMap { Int32($0) }.compactMap { current(of: $0) }.filter { $0.parent == process }
        let parent = current(of: process)
        let ticks = children.reduce(0) { $0 + $1.ownTicks } + (parent?.ownTicks ?? 0) + (parent?.exitedChildrenTicks ?? 0)
        return Double(ticks) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}
