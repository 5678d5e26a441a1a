import { readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ACCOUNT, cleanEnvironment, localAwsEnvironment, NODE_BIN, REGION } from '#bin/local/environment.ts'
import { StartFailure } from '#bin/local/failure.ts'
import { runStep } from '#bin/local/run-step.ts'

const CDK = join(NODE_BIN, 'cdk')
const STACK = 'commerce-local'

const QUIET = ['--no-notices', '--no-version-reporting', '--no-color', '--ci']

/** By default the CDK command line checks the internet for notices and newer versions, and reports its use. */
const SILENCE = { CDK_DISABLE_CLI_TELEMETRY: 'true', CDK_DISABLE_VERSION_CHECK: '1', NO_COLOR: '1' }

/** The stack outputs that locate the running service. */
export interface StackOutputs extends Readonly<Record<string, string>> {
  readonly RestApiId: string
  readonly StageName: string
  readonly TableName: string
  readonly EventBusName: string
  readonly UserPoolId: string
  readonly UserPoolClientId: string
  readonly WebhooksSecretArn: string
}

const NEEDED: readonly (keyof StackOutputs)[] = [
  'RestApiId',
  'StageName',
  'TableName',
  'EventBusName',
  'UserPoolId',
  'UserPoolClientId',
  'WebhooksSecretArn',
]

export interface SynthesisOptions {
  /** The command of the CDK app. Tests may use another than the service's own. */
  readonly app?: string
  /** Path of the settings profile. */
  readonly settings: string
  /** The output folder of the cloud assembly. */
  readonly assembly: string
  readonly signal: AbortSignal
}

/**
 * Synthesizes the local stage once, into a directory that `deploy` uses. Makes no AWS calls.
 * @throws StartFailure with the error of the app, such as a missing setting.
 */
export async function synthesise({
  app = 'node bin/app.ts',
  settings,
  assembly,
  signal,
}: SynthesisOptions): Promise<void> {
  await mkdir(dirname(assembly), { recursive: true })
  await runStep({
    name: 'Synthesising the stack',
    command: CDK,
    args: [
      'synth',
      '--quiet',
      '--app',
      app,
      '--output',
      assembly,
      '-c',
      'stage=local',
      '-c',
      `settings=${settings}`,
      ...QUIET,
    ],
    env: { ...cleanEnvironment(), ...SILENCE, AWS_REGION: REGION, AWS_EC2_METADATA_DISABLED: 'true' },
    signal,
  })
}

/** Creates the bucket and roles that deployments use. */
export async function bootstrap(endpoint: string, signal: AbortSignal): Promise<void> {
  await runStep({
    name: 'Bootstrapping the local AWS',
    command: CDK,
    // No app: bootstrapping concerns the account, and the app would require a stage.
    args: ['bootstrap', `aws://${ACCOUNT}/${REGION}`, '--app', '', ...QUIET],
    env: { ...localAwsEnvironment(endpoint), ...SILENCE },
    signal,
  })
}

/**
 * Deploys a synthesized assembly to the local AWS.
 * @throws StartFailure with the whole output of the CDK command line, or if an output is missing.
 */
export async function deploy(endpoint: string, assembly: string, signal: AbortSignal): Promise<StackOutputs> {
  const outputsFile = join(dirname(assembly), 'outputs.json')
  const output = await runStep({
    name: 'Deploying to the local AWS',
    command: CDK,
    args: [
      'deploy',
      '--all',
      '--app',
      assembly,
      '--require-approval',
      'never',
      '--outputs-file',
      outputsFile,
      ...QUIET,
    ],
    env: { ...localAwsEnvironment(endpoint), ...SILENCE },
    signal,
  })
  return readOutputs(outputsFile, output)
}

function readOutputs(file: string, deployment: string): StackOutputs {
  const outputs = JSON.parse(readFileSync(file, 'utf8'))[STACK] ?? {}
  const missing = NEEDED.filter((name) => !outputs[name])
  if (missing.length > 0)
    throw new StartFailure(`The stack ${STACK} has no output ${missing.join(', ')}.`, deployment)
  return outputs
}
