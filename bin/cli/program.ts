import { styleText } from 'node:util'
import { Command, CommanderError, type CommandUnknownOpts, Help } from '@commander-js/extra-typings'
import { defineQuestions } from '../commands/ask/question-commands.ts'
import { defineDeploymentCommands } from '../commands/deployment/deployment-commands.ts'
import { defineHoldCommands } from '../commands/holds/hold-commands.ts'
import { defineRefundCommands } from '../commands/refunds/refund-commands.ts'
import { defineServiceCommands } from '../commands/service/service-commands.ts'
import { defineDeliveryCommands } from '../commands/subscribers/delivery-commands.ts'
import { defineSubscriberCommands } from '../commands/subscribers/subscriber-commands.ts'
import { defineTenantCommands } from '../commands/tenants/tenant-commands.ts'
import { version } from '../describe/version.ts'
import { definer, UsageError } from './options.ts'
import { printableText } from './output.ts'

const description =
  'The command line of the commerce API. Commands work on the local run (npm start) or, with --stack NAME, on a stack in the AWS account and region of the environment; the help of a command says if it works on only one of them.'

const conventions = `
Output is a table on a terminal, and JSON lines when it is piped. token, env and runbook print text. NO_COLOR turns colors off.
Exit codes: 0 success; 1 failure; 2 wrong usage, such as an unknown option.`

/** Advice for errors of the AWS SDK that do not say what to do, by the beginning of their message. */
const advice = {
  'Region is missing': 'no AWS region is set: set AWS_REGION, or AWS_PROFILE to a profile with a region',
  'Could not load credentials': 'there are no AWS credentials: set AWS_PROFILE, or sign in',
}

/** Returns the whole command line. Definitions are light: a command loads its code and the AWS SDK when it runs. */
export function createProgram(): Command {
  const program = new Command('commerce')
    .description(description)
    .addHelpText('after', conventions)
    .version(version, '--version', 'print the version')
    .exitOverride()
    .configureHelp({
      styleTitle: (title) => styleText('bold', title),
      // Only here: a suggestion for a mistyped command compares the commands that can be typed at its place.
      formatHelp: (command, help) => {
        help.visibleCommands = ({ commands }) => commands.flatMap(leavesOf)
        return Help.prototype.formatHelp.call(help, command, help)
      },
      subcommandTerm: (command) => commandName(command),
      optionDescription: (option) =>
        `${new Help().optionDescription(option)}${option.mandatory ? ' (required)' : ''}`,
      subcommandDescription: (command) => /^.*?(?=\.(?: |$))/.exec(command.description())?.[0] ?? '',
    })
    .configureOutput({
      outputError: (text, write) => write(styleText('red', text, { stream: process.stderr })),
    })
    .showHelpAfterError('Add --help to see how the command is used.')
    .hook('preAction', (_, command) => refuseEmpty(command))
  const define = definer(program)
  program.commandsGroup('Use the service:')
  defineServiceCommands(define)
  program.commandsGroup('Ask what happened:')
  defineQuestions(define)
  program.commandsGroup('Tenants:')
  defineTenantCommands(define)
  defineHoldCommands(define)
  defineRefundCommands(define)
  defineSubscriberCommands(define)
  defineDeliveryCommands(define)
  program.commandsGroup('Operate a deployment:')
  defineDeploymentCommands(define)
  return program
}

/** @throws UsageError for an empty argument or option, such as the value of a variable that is not set in a script */
function refuseEmpty(command: CommandUnknownOpts): void {
  const argument = command.registeredArguments[command.args.indexOf('')]
  if (argument) throw new UsageError(`<${argument.name()}> is empty`)
  const option = command.options.find((one) => command.getOptionValue(one.attributeName()) === '')
  if (option) throw new UsageError(`${option.long} is empty`)
}

/** Returns the commands that do something: not those that only group others. */
export function leavesOf(command: CommandUnknownOpts): CommandUnknownOpts[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf)
}

/** Returns the name of a command as it is typed after `commerce`. */
export function commandName(command: CommandUnknownOpts): string {
  const group = command.parent
  return group?.parent ? `${group.name()} ${command.name()}` : command.name()
}

/** Runs a command line and prints its errors. @returns the exit code */
export async function runProgram(args: readonly string[]): Promise<number> {
  try {
    await createProgram().parseAsync(args, { from: 'user' })
    return Number(process.exitCode ?? 0)
  } catch (thrown) {
    // The library has printed its own errors and the help that was asked for.
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2
    const { message } = thrown as Error
    const [, text = message] = Object.entries(advice).find(([start]) => message.startsWith(start)) ?? []
    console.error(
      styleText('red', `error: ${text.split('\n').map(printableText).join('\n')}`, {
        stream: process.stderr,
      }),
    )
    return thrown instanceof UsageError ? 2 : 1
  }
}
