/** Prints the usage of a command and exits with code 0, if the command line contains --help. */
export function answerHelp(usage: string): void {
  if (!process.argv.includes('--help')) return
  console.log(usage)
  process.exit(0)
}

/** Runs a command. Prints an error as one sentence with the usage, and sets exit code 1. */
export async function run(usage: string, command: () => Promise<void>): Promise<void> {
  answerHelp(usage)
  try {
    await command()
  } catch (thrown) {
    console.error(`${(thrown as Error).message}\n${usage}`)
    process.exitCode = 1
  }
}

/** @throws Error that names the option if it is missing */
export function needed(value: string | undefined, name: string): string {
  if (value === undefined || value === '') throw new Error(`--${name} is needed`)
  return value
}
