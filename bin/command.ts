/** Runs a command: what it throws is told in a sentence, with how the command is used, and exit code 1. */
export async function run(usage: string, command: () => Promise<void>): Promise<void> {
  try {
    await command()
  } catch (thrown) {
    console.error(`${(thrown as Error).message}\n${usage}`)
    process.exitCode = 1
  }
}

/** @throws Error that names the option when it was not given */
export function needed(value: string | undefined, name: string): string {
  if (value === undefined || value === '') throw new Error(`--${name} is needed`)
  return value
}
