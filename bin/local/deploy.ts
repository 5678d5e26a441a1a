import { readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { PutSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import { newSigningKey, storeSigningSecret } from '../commands/webhooks/webhook-secret.ts'
import {
  ACCOUNT,
  cleanEnvironment,
  type LocalAws,
  localAwsEnvironment,
  NODE_BIN,
  REGION,
} from './environment.ts'
import { localProviderKey } from './payment-provider.ts'
import { runStep, StartFailure } from './process.ts'

const STACK = 'commerce-local'

/** The stack outputs that locate the running service. */
const NEEDED = [
  'RestApiId',
  'StageName',
  'TableName',
  'EventBusName',
  'UserPoolId',
  'UserPoolClientId',
  'PaymentsSecretArn',
  'WebhooksSecretArn',
  'StripeWebhooksSecretArn',
] as const

export type StackOutputs = Readonly<Record<string, string> & Record<(typeof NEEDED)[number], string>>

/** @throws StartFailure with the whole output of the CDK command line */
function cdk(name: string, args: string[], env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<string> {
  return runStep({
    name,
    command: join(NODE_BIN, 'cdk'),
    args: [...args, '--no-notices', '--no-version-reporting', '--no-color', '--ci'],
    // By default it checks the internet for notices and newer versions, and reports its use.
    env: { ...env, CDK_DISABLE_CLI_TELEMETRY: 'true', CDK_DISABLE_VERSION_CHECK: '1', NO_COLOR: '1' },
    signal,
  })
}

interface SynthesisOptions {
  /** Path of the settings profile. */
  readonly settings: string
  /** The id of the deployment, if functions are to have versions and aliases, as on AWS. */
  readonly release?: string | undefined
  /** The output folder of the cloud assembly. */
  readonly assembly: string
  readonly signal: AbortSignal
}

/**
 * Synthesizes the local stage once, into a directory that `deploy` uses. Makes no AWS calls.
 * @throws StartFailure with the error of the app, such as a missing setting.
 */
export async function synthesize(options: SynthesisOptions): Promise<void> {
  const { settings, release, assembly, signal } = options
  await mkdir(dirname(assembly), { recursive: true })
  const context = ['-c', 'stage=local', '-c', `settings=${settings}`]
  if (release !== undefined) context.push('-c', `release=${release}`)
  const env = {
    ...cleanEnvironment(),
    AWS_REGION: REGION,
    AWS_EC2_METADATA_DISABLED: 'true',
    // CDK's validation of the template takes longer than the synthesis. Stages on AWS are validated.
    CDK_VALIDATION: 'false',
  }
  const args = ['synth', '--quiet', '--app', 'node bin/app.ts', '--output', assembly, ...context]
  await cdk('Synthesizing the stack', args, env, signal)
}

/** Creates the bucket and roles that deployments use. */
export async function bootstrap(aws: LocalAws, signal: AbortSignal): Promise<void> {
  // No app: bootstrapping concerns the account, and the app would require a stage.
  const args = ['bootstrap', `aws://${ACCOUNT}/${REGION}`, '--app', '']
  await cdk('Bootstrapping the local AWS', args, localAwsEnvironment(aws), signal)
}

/**
 * Deploys a synthesized assembly to the local AWS.
 * @throws StartFailure with the whole output of the CDK command line, or if an output is missing.
 */
export async function deploy(aws: LocalAws, assembly: string, signal: AbortSignal): Promise<StackOutputs> {
  const file = join(dirname(assembly), 'outputs.json')
  const nonInteractive = ['--require-approval', 'never', '--outputs-file', file]
  const args = ['deploy', '--all', '--app', assembly, ...nonInteractive]
  const output = await cdk('Deploying to the local AWS', args, localAwsEnvironment(aws), signal)
  const outputs = JSON.parse(readFileSync(file, 'utf8'))[STACK] ?? {}
  const missing = NEEDED.filter((name) => !outputs[name])
  if (missing.length === 0) return outputs
  throw new StartFailure(`The stack ${STACK} has no output ${missing.join(', ')}.`, output)
}

/**
 * Stores a new key that signs webhooks, and returns it. On AWS the stack generates one without punctuation, which is
 * valid base64. The local engine also generates punctuation, which senders cannot decode.
 */
export async function storeWebhookKey(access: LocalAws, outputs: StackOutputs): Promise<string> {
  const secret = newSigningKey()
  await storeSigningSecret({ outputs, access }, secret)
  return secret
}

/** Stores the API key of the fake payment provider: until there is one, the service makes no refunds. */
export async function storeProviderKey(access: LocalAws, outputs: StackOutputs): Promise<void> {
  const value = { SecretId: outputs.PaymentsSecretArn, SecretString: localProviderKey }
  await new SecretsManagerClient(access).send(new PutSecretValueCommand(value))
}
