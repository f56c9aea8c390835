#if DEBUG || FUZZER
    import Foundation
    import Observation
    import Operator

    extension FuzzTarget {
        /// The status of a server as `pushctl top` shows it. Whatever listens at the address writes it.
        static let status = FuzzTarget(name: "status", vectors: [], samples: samples) { input throws(Violation) in
            guard let screen = try? StatusScreen(json: Data(input)) else { return }
            for width in [0, 24, 80, 1_000] { _ = screen.lines(width: width) }
        }

        private static let samples = [
            #"{"isReady":true,"stateSeconds":1,"issues":[],"warnings":[],"nodes":[],"routes":[],"serverName":"one","uptimeSeconds":1}"#
        ]
    }
#endif
