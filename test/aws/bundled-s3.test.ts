import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Bundle, bundle } from '#bin/build/bundle.ts'
import { localAwsEnvironment } from '#bin/local/environment.ts'
import type { SampleEvent } from '../aws/sample-files.ts'
import { type LocalS3, startLocalS3 } from './local-s3.ts'

const keys = { accessKeyId: 'test', secretAccessKey: 'test' }
const key = 'exports/acme/ö (1).csv'
let bundled: Bundle
let s3: LocalS3

const scratch = await mkdtemp(join(tmpdir(), 'bundled-s3-'))
beforeAll(async () => {
  const entries = { sample: join(import.meta.dirname, 'sample-files.ts') }
  const [bundles, started] = await Promise.all([
    bundle({ entries, outdir: scratch, settings: '{}' }),
    startLocalS3(),
  ])
  bundled = bundles.sample as Bundle
  s3 = started
})
afterAll(async () => {
  await s3?.stop()
  await rm(scratch, { recursive: true, force: true })
})

test.each([
  ['one request', 1],
  ['parts', 12],
])('writes a file in %s and signs a link to it', async (_how, megabytes) => {
  const link = await call({ bucket: s3.bucket, key, megabytes }, localAwsEnvironment(s3.aws))
  const answer = await fetch(link)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-disposition')).toBe('attachment; filename="sample.csv"')
  const bytes = Buffer.from(await answer.arrayBuffer())
  const rows = Array.from({ length: megabytes }, (_, index) => Buffer.alloc(1024 * 1024, `row ${index},`))
  expect(bytes.equals(Buffer.concat(rows))).toBe(true)
  expect((await fetch(link.replace('.csv?', '.csw?'))).status).toBe(403)
})

describe('bucket addresses are the same as in the complete SDK', () => {
  const bucket = 'files-of-commerce'
  test.each([
    ['in a region', { AWS_REGION: 'eu-west-1' }],
    ['in the first region', { AWS_REGION: 'us-east-1' }],
    ['in China', { AWS_REGION: 'cn-north-1' }],
    ['as a role', { AWS_REGION: 'eu-west-1', AWS_SESSION_TOKEN: 'session' }],
    ['at an endpoint', { AWS_REGION: 'eu-west-1', AWS_ENDPOINT_URL: 'http://127.0.0.1:4566' }],
    ['at an endpoint with a path', { AWS_REGION: 'eu-west-1', AWS_ENDPOINT_URL_S3: 'https://10.0.0.1/s3/' }],
  ])('%s', async (_where, environment: Record<string, string>) => {
    const { AWS_REGION: region = '', AWS_SESSION_TOKEN: sessionToken } = environment
    const endpoint = environment.AWS_ENDPOINT_URL ?? environment.AWS_ENDPOINT_URL_S3
    const whole = new S3Client({
      region,
      credentials: { ...keys, ...(sessionToken && { sessionToken }) },
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      ...(endpoint && { endpoint }),
    })
    const command = new GetObjectCommand({
      Bucket: bucket,
      Key: key,
      ResponseContentDisposition: 'attachment; filename="sample.csv"',
      ResponseContentType: 'text/csv',
    })
    const link = new URL(await call({ bucket, key }, environment))
    // Both are signed for the same second, so all bytes are equal.
    const signingDate = dateOf(link.searchParams.get('X-Amz-Date') ?? '')
    expect(link.href).toBe(await getSignedUrl(whole, command, { expiresIn: 60, signingDate }))
  })
})

test.each([
  'Files',
  'files.of.commerce',
  'files--use1-az4--x-s3',
  'arn:aws:s3::123456789012:accesspoint:a.mrap',
  'a/b',
])('rejects %s instead of a plain bucket name', async (bucket) => {
  await expect(call({ bucket, key })).rejects.toThrow('by a name without dots only')
})

test.each<[string, Record<string, string>]>([
  ['FIPS', { AWS_USE_FIPS_ENDPOINT: 'true' }],
  ['dual stack', { AWS_USE_DUALSTACK_ENDPOINT: 'true' }],
  ['an isolated region', { AWS_REGION: 'us-iso-east-1' }],
])('rejects %s instead of ignoring it', async (_what, environment) => {
  await expect(call({ bucket: 'files', key }, environment)).rejects.toThrow('regional endpoints only')
})

/** Calls the bundle in a separate process, like a Lambda function. */
async function call(event: SampleEvent, environment: NodeJS.ProcessEnv = {}): Promise<string> {
  const file = pathToFileURL(join(bundled.directory, 'index.mjs')).href
  const script = `const { handler } = await import(${JSON.stringify(file)})
    process.stdout.write(await handler(${JSON.stringify(event)}))`
  const env = {
    PATH: process.env.PATH,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: keys.accessKeyId,
    AWS_SECRET_ACCESS_KEY: keys.secretAccessKey,
    ...environment,
  }
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    env,
  })
  return stdout
}

/** The time 20260131T010203Z. */
function dateOf(stamp: string): Date {
  return new Date(stamp.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z'))
}
