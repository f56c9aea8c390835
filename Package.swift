// swift-tools-version: 6.2
import PackageDescription

// One set of rules for every target of ours.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),  // SE-0335: `any` where a box is paid for
    .enableUpcomingFeature("MemberImportVisibility"),  // SE-0444: a member needs its module imported in that file
    .enableUpcomingFeature("InternalImportsByDefault"),  // SE-0409: an import leaks only where it says so
    .enableExperimentalFeature("Lifetimes"),  // readers that borrow their bytes (`~Escapable`)
    .strictMemorySafety(),  // SE-0458: each unsafe use is marked
    .treatAllWarnings(as: .error),  // SE-0443
]

let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let deque: Target.Dependency = .product(name: "DequeModule", package: "swift-collections")
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")
let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "CoreMetrics", package: "swift-metrics")
let serviceLifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let sqlite: Target.Dependency = .product(name: "GRDBSQLite", package: "GRDB.swift")
let unixSignals: Target.Dependency = .product(name: "UnixSignals", package: "swift-service-lifecycle")
let yams: Target.Dependency = .product(name: "Yams", package: "Yams")

func library(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func gateway(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, path: "Sources/Gateways/" + name, swiftSettings: settings)
}

func executable(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies + [argumentParser], swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(
        name: name + "Tests", dependencies: dependencies + ["TestSupport"], exclude: exclude, swiftSettings: settings)
}

let package = Package(
    name: "pushserver",
    products: [
        .library(name: "PushClient", targets: ["PushClient"]),
        .executable(name: "pushserver", targets: ["pushserver"]),
        .executable(name: "pushctl", targets: ["pushctl"]),
        .executable(name: "pushbench", targets: ["pushbench"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", .upToNextMinor(from: "1.8.2")),
        .package(url: "https://github.com/apple/swift-collections", .upToNextMinor(from: "1.6.0")),
        .package(url: "https://github.com/apple/swift-log", .upToNextMinor(from: "1.16.2")),
        .package(url: "https://github.com/apple/swift-metrics", .upToNextMinor(from: "2.13.0")),
        .package(url: "https://github.com/groue/GRDB.swift", .upToNextMinor(from: "7.10.0")),
        .package(url: "https://github.com/hummingbird-project/hummingbird", .upToNextMinor(from: "2.28.1"), traits: []),
        .package(url: "https://github.com/jpsim/Yams", .upToNextMinor(from: "6.2.2")),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", .upToNextMinor(from: "2.13.0")),
    ],
    targets: [
        // System libraries: a module map and a shim header each.
        .systemLibrary(name: "CSecp256k1", pkgConfig: "libsecp256k1", providers: [.apt(["libsecp256k1-dev"])]),
        .systemLibrary(name: "CLibCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CLibCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),

        // Version and commit of the programs; Scripts/release gives the latter in the environment.
        .target(
            name: "CBuildInfo",
            cSettings: [.treatAllWarnings(as: .error)]
                + ["BUILD_COMMIT", "BUILD_SWIFT"].compactMap { name in
                    Context.environment[name].map { .define(name, to: "\"\($0)\"") }
                }),
        library("BuildInfo", ["CBuildInfo"]),

        // What every target that waits shares.
        library("Concurrency", [deque]),
        library("JSON"),
        // What keeps secrets out of whatever is printed.
        library("Redaction"),

        // From bytes to rules. Arrows point downwards only; docs/ARCHITECTURE.md draws them.
        library("Wire", ["Redaction"]),
        library("StatusCrypto", ["CSecp256k1", "CLibCrypto"]),
        library("RSA", ["StatusCrypto", "CLibCrypto"]),
        library("KeyFiles", ["StatusCrypto"]),
        library("Envelope", ["Wire", "StatusCrypto"]),
        library("PushProtocol", ["Wire", "StatusCrypto", "Envelope", "Redaction"]),
        library("Notifications", ["JSON", "StatusCrypto", "Redaction"]),

        // The neighbours: database, node, gorush.
        library("HTTPClient", ["CLibCurl", "Concurrency", "Redaction"]),
        library("Store", ["Notifications", "PushProtocol", "Envelope", "StatusCrypto", "Wire", "Redaction"]),
        library(
            "SQLiteStore",
            [
                "Store", "NextcloudProxy", "NextcloudOrigin", "Notifications", "RSA", "PushProtocol", "Envelope", "StatusCrypto", "Wire",
                "Redaction", grdb, sqlite, logging,
            ]),
        library("WakuREST", ["HTTPClient", "JSON", "Envelope", "StatusCrypto", "Wire", "Redaction"]),
        library("MessageBus", ["Envelope"]),
        library(
            "Transport", ["WakuREST", "MessageBus", "Concurrency", "Envelope", "StatusCrypto", "Wire", logging, metrics, serviceLifecycle]),
        library("Relay", ["WakuREST", "JSON", "MessageBus", "Envelope", "StatusCrypto", "Wire", hummingbird, logging, serviceLifecycle]),

        // The gateways: other push systems, over HTTP. Each knows its own protocol, and nothing of how a push is delivered.
        gateway("GatewayHTTP", ["JSON", "HTTPClient", "StatusCrypto", "Redaction"]),
        gateway("GatewayServer", ["GatewayHTTP", "HTTPClient", hummingbird, logging, serviceLifecycle]),
        gateway(
            "NextcloudProxy",
            ["GatewayHTTP", "Notifications", "RSA", "JSON", "HTTPClient", "Concurrency", "Envelope", "StatusCrypto", "Redaction", logging]),
        gateway(
            "NextcloudOrigin",
            [
                "GatewayHTTP", "Notifications", "RSA", "JSON", "HTTPClient", "Concurrency", "Envelope", "StatusCrypto", "Redaction",
                logging, metrics, serviceLifecycle,
            ]),
        gateway("SoftphonePNM", ["GatewayHTTP", "Notifications", "JSON", "StatusCrypto", logging]),

        // Where settings come from: the file, the environment, flags. Tools beside a server find its files by it.
        library("SettingsSources", ["Redaction", yams]),

        // The server.
        library(
            "Engine",
            [
                "Transport", "Store", "PushProtocol", "Envelope", "StatusCrypto", "Wire", "Concurrency", "Redaction", deque, logging,
                metrics,
                serviceLifecycle,
            ]),
        library(
            "Delivery",
            [
                "Concurrency", "JSON", "Store", "Notifications", "PushProtocol", "Envelope", "StatusCrypto", "Wire", "HTTPClient",
                "Redaction", logging, metrics, serviceLifecycle, yams,
            ]),
        library(
            "Daemon",
            [
                "Engine", "Delivery", "GatewayServer", "GatewayHTTP", "NextcloudProxy", "NextcloudOrigin", "SoftphonePNM", "Notifications",
                "RSA", "JSON", "Relay", "Transport", "MessageBus", "WakuREST", "SQLiteStore", "Store", "HTTPClient", "PushProtocol",
                "Envelope", "KeyFiles", "StatusCrypto", "SettingsSources", "BuildInfo", "Redaction", hummingbird, logging, metrics,
                serviceLifecycle, unixSignals, yams,
            ]),

        // The client side: the only public API.
        library("PushClient", ["WakuREST", "Concurrency", "HTTPClient", "Envelope", "StatusCrypto", "Wire", grdb]),

        executable("pushserver", ["Daemon", "BuildInfo"]),
        executable(
            "pushctl",
            [
                "PushClient", "SettingsSources", "SQLiteStore", "Store", "HTTPClient", "Envelope", "PushProtocol", "KeyFiles", "RSA",
                "StatusCrypto", "Wire", "BuildInfo", logging,
            ]),
        executable("pushbench", ["Bench", "BuildInfo"]),

        // The measuring stick (docs/BENCHMARKS.md): calls every layer, and the C libraries bare for comparison.
        library(
            "Bench",
            [
                "Engine", "Delivery", "Transport", "SQLiteStore", "Store", "HTTPClient", "PushProtocol", "Envelope", "StatusCrypto", "Wire",
                "NextcloudProxy", "GatewayHTTP", "Notifications", "RSA", "WakuREST", "Relay", "TestSupport", "CSecp256k1", "CLibCrypto",
                logging,
            ]),

        // Clock, stub gorush, vectors, keys: shared by all tests and the demo.
        library(
            "TestSupport",
            [
                "CFaultyVFS", "GatewayHTTP", "GatewayServer", "RSA", "JSON", "Relay", "MessageBus", "WakuREST", "HTTPClient", "Concurrency",
                "Envelope", "StatusCrypto", "Wire",
                hummingbird,
                logging, serviceLifecycle,
            ]),
        executable("misbehavingrelay", ["TestSupport", "Relay", "MessageBus", "Envelope", logging, serviceLifecycle, unixSignals]),
        executable("stubgorush", ["TestSupport", logging, serviceLifecycle, unixSignals]),
        // A disk that fails on purpose, under SQLite.
        .target(
            name: "CFaultyVFS", dependencies: [sqlite], cSettings: [.treatAllWarnings(as: .error)],
            linkerSettings: [.linkedLibrary("sqlite3")]),

        // Reads what strangers send, on and on (Scripts/fuzz).
        .executableTarget(
            name: "pushfuzz",
            dependencies: [
                "CAllocationMeter", "Daemon", "Delivery", "Engine", "Transport", "Relay", "NextcloudProxy", "GatewayHTTP",
                "Notifications", "RSA", "SQLiteStore", "Store", "PushProtocol", "HTTPClient", "WakuREST", "JSON", "Envelope",
                "StatusCrypto", "Wire", "SettingsSources", "TestSupport", argumentParser, logging, grdb, sqlite,
            ],
            path: "Tests/Fuzz", exclude: ["CAllocationMeter", "Regressions"],
            swiftSettings: settings + [.enableExperimentalFeature("Extern")]),
        .target(name: "CAllocationMeter", path: "Tests/Fuzz/CAllocationMeter", cSettings: [.treatAllWarnings(as: .error)]),

        // The example of the package in Examples, built as an app is: it sees what is public, and nothing else.
        .executableTarget(
            name: "Quickstart", dependencies: ["PushClient"], path: "Examples/Sources/Quickstart", packageAccess: false,
            swiftSettings: settings),

        tests("Concurrency", ["Concurrency"]),
        tests("JSON", ["JSON"]),
        tests("RSA", ["RSA", "StatusCrypto"]),
        tests("GatewayHTTP", ["GatewayHTTP", "HTTPClient"]),
        tests(
            "NextcloudProxy",
            [
                "NextcloudProxy", "GatewayHTTP", "Notifications", "RSA", "JSON", "HTTPClient", "Envelope", "StatusCrypto", logging,
                serviceLifecycle,
            ]),
        tests(
            "NextcloudOrigin",
            [
                "NextcloudOrigin", "NextcloudProxy", "GatewayHTTP", "Notifications", "RSA", "HTTPClient", "SQLiteStore", "Envelope",
                "StatusCrypto", logging, serviceLifecycle,
            ]),
        tests(
            "Redaction",
            [
                "Daemon", "SettingsSources", "Delivery", "Engine", "SQLiteStore", "NextcloudProxy", "NextcloudOrigin", "GatewayHTTP",
                "Notifications", "PushClient", "WakuREST", "Store", "PushProtocol", "HTTPClient", "RSA", "Envelope", "StatusCrypto", "Wire",
                logging,
            ]),
        tests("SoftphonePNM", ["SoftphonePNM", "GatewayHTTP", "Notifications", "HTTPClient", "Envelope", logging, serviceLifecycle]),
        tests("Wire", ["Wire", "StatusCrypto"], exclude: ["Differential"]),
        tests("StatusCrypto", ["StatusCrypto"]),
        tests("Envelope", ["Envelope", "StatusCrypto", "Wire"]),
        tests("PushProtocol", ["PushProtocol", "StatusCrypto", "Wire"]),
        tests("HTTPClient", ["HTTPClient"]),
        tests(
            "Store",
            [
                "SQLiteStore", "Store", "NextcloudProxy", "NextcloudOrigin", "Notifications", "RSA", "PushProtocol", "Envelope",
                "StatusCrypto", "Wire", grdb, sqlite, logging,
            ]),
        tests("WakuREST", ["WakuREST", "JSON", "Relay", "Envelope", "StatusCrypto", "Wire"]),
        tests("MessageBus", ["MessageBus", "Envelope"]),
        tests(
            "Transport",
            [
                "Transport", "WakuREST", "JSON", "MessageBus", "Relay", "HTTPClient", "Envelope", "StatusCrypto", "Wire", logging,
                serviceLifecycle,
            ]),
        tests("Relay", ["Relay", "WakuREST", "MessageBus", "HTTPClient", "Envelope", "StatusCrypto", "Wire"]),
        tests(
            "Delivery",
            [
                "Delivery", "Daemon", "SoftphonePNM", "Concurrency", "JSON", "Engine", "Transport", "SQLiteStore", "Store",
                "Notifications", "PushProtocol", "HTTPClient", "Envelope", "StatusCrypto", "Wire", "SettingsSources", grdb, logging,
                serviceLifecycle, yams,
            ]),
        tests(
            "Engine",
            [
                "Engine", "Transport", "WakuREST", "MessageBus", "HTTPClient", "SQLiteStore", "Store", "PushProtocol", "Envelope",
                "StatusCrypto", "Wire", grdb, logging, serviceLifecycle,
            ]),
        tests(
            "PushClient",
            [
                "PushClient", "pushctl", "pushserver", "Relay", "WakuREST", "MessageBus", "HTTPClient", "PushProtocol", "Envelope",
                "KeyFiles",
                "StatusCrypto", "Wire", logging, serviceLifecycle,
            ]),
        tests(
            "Simulation",
            [
                "Delivery", "Engine", "Transport", "WakuREST", "JSON", "Concurrency", "SQLiteStore", "Store", "PushProtocol", "Envelope",
                "StatusCrypto", "Wire", logging,
            ]),
        tests("Bench", ["Bench"]),
        tests(
            "Daemon",
            [
                "pushserver", "pushctl", "pushbench", "Quickstart", "misbehavingrelay", "Daemon", "WakuREST", "MessageBus", "HTTPClient",
                "SQLiteStore", "Store", "Envelope", "GatewayHTTP", "RSA", "KeyFiles", "StatusCrypto", "Wire", grdb, logging,
                serviceLifecycle, yams,
            ]),
    ],
    cLanguageStandard: .c11
)
