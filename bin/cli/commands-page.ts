import type { CommandUnknownOpts } from '@commander-js/extra-typings'
import { commandName, createProgram, leavesOf } from './program.ts'

const opening = `# Commands

Run \`npx commerce\` with a command, in the root of the repository. This page is the text of \`--help\`, written by
\`npm run generate\`.

- Commands work on the local run (\`npm start\`) or, with \`--stack NAME\`, on a stack in the AWS account and region of the
  environment, with the permissions of [examples/operator-policy.json](examples/operator-policy.json).
- Output is a table on a terminal, and JSON lines when it is piped.
  \`token\`, \`env\` and \`runbook\` print text. Progress and errors go to standard error.
- Destructive commands ask on a terminal. Elsewhere they need \`--yes\`.
- Exit codes: 0 success; 1 failure; 2 wrong usage, such as an unknown option.

What developers of the service run is in [testing.md](testing.md).
`

/** Returns the page of all commands, made of their help. */
export function commandsPage(): string {
  const program = createProgram()
  const groups = Map.groupBy(leavesOf(program), (command) => command.helpGroup().replace(':', ''))
  const sections = [...groups].map(([group, commands]) => {
    const texts = commands.map(
      (command) => `### ${commandName(command)}\n\n\`\`\`text\n${helpOf(command)}\n\`\`\`\n`,
    )
    return `## ${group}\n\n${texts.join('\n')}`
  })
  return [opening, `\`\`\`text\n${helpOf(program)}\n\`\`\`\n`, ...sections].join('\n')
}

/** Returns the help of a command as it is printed without colors in a terminal with 100 columns. */
export function helpOf(command: CommandUnknownOpts): string {
  let help = ''
  const writeOut = (text: string) => {
    help += text
  }
  command.configureOutput({ writeOut, getOutHasColors: () => false, getOutHelpWidth: () => 100 }).outputHelp()
  return help.trimEnd()
}
