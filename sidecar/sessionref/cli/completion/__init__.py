"""Completion in bash, zsh and fish: a script for each, and the sessions that it asks for.

The scripts are made of the command lines themselves, so they know every option there is. Only
sessions are looked up when TAB is pressed.
"""
