.build/debug/Tutorial "$(.build/debug/pushserver identity --plain)"
