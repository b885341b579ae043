# One GPU host on AWS with everything on it: terraform -chdir=deploy/terraform init && terraform -chdir=deploy/terraform apply
# An example to start from. The bill is yours: docs/deploy.md has a table of what such a host costs.

terraform {
  required_version = ">= 1.6"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 6.0"
    }
  }
}

variable "region" {
  type    = string
  default = "eu-central-1"
}

variable "site" {
  type        = string
  description = "The name that people type. Point its A record to the address that is printed in the end."
}

variable "repository" {
  type        = string
  description = "Where the host gets Tourney from: an address that `git clone` takes."
}

variable "ssh_key" {
  type        = string
  description = "Your public key."
}

variable "ssh_from" {
  type        = string
  description = "The network that may use ssh, for example 198.51.100.7/32."
}

variable "instance_type" {
  type        = string
  description = "g6.xlarge: one L4 with 24 GB, 4 virtual cores, 16 GB."
  default     = "g6.xlarge"
}

variable "spot" {
  type        = bool
  description = "Cheaper, and may be taken away at two minutes' notice; the disk stays."
  default     = false
}

provider "aws" {
  region = var.region
}

data "aws_ssm_parameter" "image" {
  name = "/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id"
}

resource "aws_key_pair" "operator" {
  key_name   = "tourney"
  public_key = var.ssh_key
}

resource "aws_security_group" "arena" {
  name        = "tourney"
  description = "Web for everybody, ssh for the operator"

  dynamic "ingress" {
    for_each = { 80 = "0.0.0.0/0", 443 = "0.0.0.0/0", 22 = var.ssh_from }
    content {
      from_port   = ingress.key
      to_port     = ingress.key
      protocol    = "tcp"
      cidr_blocks = [ingress.value]
    }
  }

  egress {
    from_port   = 0
    to_port     = 0
    protocol    = "-1"
    cidr_blocks = ["0.0.0.0/0"]
  }
}

resource "aws_instance" "arena" {
  ami                         = data.aws_ssm_parameter.image.value
  instance_type               = var.instance_type
  key_name                    = aws_key_pair.operator.key_name
  vpc_security_group_ids      = [aws_security_group.arena.id]
  user_data_replace_on_change = false

  user_data = templatefile("${path.module}/../cloud-init.yaml", {
    site       = var.site
    repository = var.repository
  })

  metadata_options {
    http_tokens = "required"
  }

  root_block_device {
    volume_type = "gp3"
    volume_size = 150
    encrypted   = true
  }

  dynamic "instance_market_options" {
    for_each = var.spot ? [1] : []
    content {
      market_type = "spot"
      spot_options {
        instance_interruption_behavior = "stop"
        spot_instance_type             = "persistent"
      }
    }
  }

  lifecycle {
    # A newer image must not take the disk with the data away.
    ignore_changes = [ami, user_data]
  }

  tags = {
    Name = "tourney"
  }
}

resource "aws_eip" "arena" {
  instance = aws_instance.arena.id
  domain   = "vpc"
}

output "address" {
  value = aws_eip.arena.public_ip
}
