import { Stack, Validations } from 'aws-cdk-lib'
import type { IRole } from 'aws-cdk-lib/aws-iam'
import type { Bucket, CfnBucket } from 'aws-cdk-lib/aws-s3'

/** Returns the ARN pattern of the objects in a folder of the bucket. */
export function inFolder(folder: string): (resources: { files: Bucket }) => string {
  return ({ files }) => files.arnForObjects(`${folder}*`)
}

/** States why a permission on all objects of a folder is not too broad. */
export function acknowledgeFolder(
  grantee: { role?: IRole },
  folder: string,
  { files }: { files: Bucket },
): void {
  const bucket = Stack.of(files).getLogicalId(files.node.defaultChild as CfnBucket)
  Validations.of(grantee.role ?? files).acknowledge({
    id: `AwsSolutions-IAM5[Resource::<${bucket}.Arn>/${folder}*]`,
    reason: `An object has its name only when it is written; those of ${folder} lie in one folder, and it reaches no other.`,
  })
}
