import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'

const root = join(import.meta.dirname, '../..')
const pages = ['README.md', ...(await readdir(join(root, 'docs'))).filter((name) => name.endsWith('.md'))]
const texts = await Promise.all(
  pages.map((name) => readFile(join(root, name === 'README.md' ? '' : 'docs', name), 'utf8')),
)
const commands = [...new Set(texts.flatMap((text) => text.match(/^npx cdk bootstrap [^#\n]*[^#\s]/gm) ?? []))]

/** Nothing listens there: a command comes as far as its first call of AWS. */
const env = {
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  AWS_ENDPOINT_URL: 'http://127.0.0.1:9',
  AWS_ACCESS_KEY_ID: 'test',
  AWS_SECRET_ACCESS_KEY: 'test',
  AWS_REGION: 'eu-west-1',
  AWS_MAX_ATTEMPTS: '1',
  AWS_EC2_METADATA_DISABLED: 'true',
  CDK_DISABLE_CLI_TELEMETRY: 'true',
  CDK_DISABLE_VERSION_CHECK: '1',
}

function outputOf(command: string): Promise<string> {
  const [, , ...words] = command.split(' ').map((word) => (word === "''" ? '' : word))
  return new Promise((resolve) => {
    const args = [join(root, 'node_modules/aws-cdk/bin/cdk'), ...words, '--no-notices']
    execFile(process.execPath, args, { cwd: root, env }, (_error, stdout, stderr) => resolve(stdout + stderr))
  })
}

test('the documents name the command that prepares an account', () => {
  expect(commands.length).toBeGreaterThan(0)
})

test.each(commands)(
  '`%s` gets as far as the account',
  async (command) => {
    const output = await outputOf(command)
    expect(output).not.toMatch(/Specify an environment name|Unknown option|Usage:/)
    expect(output).toContain('111122223333')
  },
  120_000,
)
