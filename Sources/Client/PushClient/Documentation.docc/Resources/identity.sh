.build/debug/pushserver identity --plain
